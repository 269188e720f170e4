"""Serves python/examples/browsergym_env.py with a task that can be solved."""

import sys

import browsergym.core.registration
from browsergym.core.task import AbstractBrowserTask

sys.path.insert(0, "../../../python/examples")
import browsergym_env  # noqa: E402

from collabui_env.server import serve  # noqa: E402


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
serve(browsergym_env.BrowserGym)
