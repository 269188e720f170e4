"""The actions of the mobile family. They name an element by its index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from collabui_env import actions

_DIRECTIONS = {"direction": ("up", "down", "left", "right")}


class Action(actions.Action):
    """An action of the mobile family."""

    family = actions.MOBILE


@dataclass(frozen=True)
class Status(Action):
    """The agent declares the task complete or infeasible."""

    type = "status"
    allowed: ClassVar = {"goal_status": ("complete", "infeasible")}
    goal_status: str


@dataclass(frozen=True)
class Answer(Action):
    """The agent answers a question."""

    type = "answer"
    text: str


@dataclass(frozen=True)
class Click(Action):
    """A tap on an element."""

    type = "click"
    index: int


@dataclass(frozen=True)
class DoubleTap(Action):
    """A double tap on an element."""

    type = "double_tap"
    index: int


@dataclass(frozen=True)
class LongPress(Action):
    """A long press on an element."""

    type = "long_press"
    index: int


@dataclass(frozen=True)
class InputText(Action):
    """Text is typed into an element."""

    type = "input_text"
    text: str
    index: int


@dataclass(frozen=True)
class KeyboardEnter(Action):
    """The Enter key."""

    type = "keyboard_enter"


@dataclass(frozen=True)
class NavigateHome(Action):
    """The home key."""

    type = "navigate_home"


@dataclass(frozen=True)
class NavigateBack(Action):
    """The back key."""

    type = "navigate_back"


@dataclass(frozen=True)
class Scroll(Action):
    """The screen or an element scrolls. The view moves in the direction."""

    type = "scroll"
    allowed = _DIRECTIONS
    direction: str
    index: int | None = None


@dataclass(frozen=True)
class Swipe(Action):
    """A finger moves over the screen in the direction."""

    type = "swipe"
    allowed = _DIRECTIONS
    direction: str


@dataclass(frozen=True)
class OpenApp(Action):
    """An app is opened."""

    type = "open_app"
    app_name: str


@dataclass(frozen=True)
class Wait(Action):
    """Nothing is done. An answer that cannot be parsed becomes this action, too."""

    type = "wait"


_TAPS = (Click, DoubleTap, LongPress, InputText, Scroll, Swipe)
_KEYS = (KeyboardEnter, NavigateHome, NavigateBack, OpenApp)
_WORDS = (Status, Answer, Wait)
ACTIONS: dict[str, type[actions.Action]] = {a.type: a for a in (*_TAPS, *_KEYS, *_WORDS)}
