"""The browser of this machine, for environments that use Playwright or Selenium."""

from __future__ import annotations

import os
import shutil

_PROGRAMS = (  # Debian's programs in /usr/bin are shell wrappers that keep running next to the browser
    "/usr/lib/chromium/chromium-headless-shell",
    "chromium-headless-shell",
    "/usr/lib/chromium/chromium",
    "chromium",
    "google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)


def chromium() -> str:
    """Returns the path of the Chromium that collabui uses, or of the one that COLLABUI_CHROMIUM names. Playwright's
    launch takes it as executable_path, so `playwright install`, which downloads a browser, is not needed."""
    named = os.environ.get("COLLABUI_CHROMIUM")
    for program in (named,) if named else _PROGRAMS:
        path = shutil.which(program)
        if path is not None:
            return path
    raise FileNotFoundError(
        f"COLLABUI_CHROMIUM names {named}, which is not a program"
        if named
        else "there is no Chromium: install Debian's chromium-headless-shell, or set COLLABUI_CHROMIUM to its path"
    )
