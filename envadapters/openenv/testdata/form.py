"""Serves python/examples/browsergym_env.py with the Chromium of this machine, and with a task that can be solved."""

import functools
import os
import shutil
import sys

import browsergym.core.registration
from browsergym.core.task import AbstractBrowserTask
from playwright.sync_api import BrowserType

sys.path.insert(0, "../../../python/examples")
import browsergym_env  # noqa: E402

from collabui_env.server import serve  # noqa: E402

PROGRAMS = [os.environ.get("COLLABUI_CHROMIUM"), "chromium-headless-shell", "/usr/lib/chromium/chromium", "chromium"]


class Form(AbstractBrowserTask):
    """Send the name that the goal says."""

    @classmethod
    def get_task_id(cls):
        return "collabui-form"

    def setup(self, page):
        page.set_content("<label>Name <input></label><button onclick='document.title = 1'>Send</button>")
        return "Send the name Ada \"L'ovelace\\", {}

    def validate(self, page, chat_messages):
        sent = page.title() == "1" and page.locator("input").input_value() == "Ada \"L'ovelace\\"
        return float(sent), sent, "", {}


browsergym.core.registration.register_task(Form.get_task_id(), Form)
browsergym_env.TASKS["sent"] = {"id": "browsergym/collabui-form"}
chromium = next(p for p in map(shutil.which, filter(None, PROGRAMS)) if p)
BrowserType.launch = functools.partialmethod(BrowserType.launch, executable_path=chromium)
serve(browsergym_env.BrowserGym, port=0, places=1)
