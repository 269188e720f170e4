"""The actions of the web family. They name an element by its ID."""

from __future__ import annotations

from dataclasses import dataclass

from collabui_env import actions


class Action(actions.Action):
    """An action of the web family."""

    family = actions.WEB


@dataclass(frozen=True)
class Click(Action):
    """A click on an element."""

    type = "click"
    element: str


@dataclass(frozen=True)
class Hover(Action):
    """The pointer moves over an element."""

    type = "hover"
    element: str


@dataclass(frozen=True)
class Select(Action):
    """An option of an element is chosen by its text."""

    type = "select"
    element: str
    option: str


@dataclass(frozen=True)
class TypeString(Action):
    """Text is typed into an element."""

    type = "type_string"
    element: str
    text: str
    press_enter: bool = False


@dataclass(frozen=True)
class ScrollPage(Action):
    """The page scrolls."""

    type = "scroll_page"
    allowed = {"direction": ("up", "down")}
    direction: str


@dataclass(frozen=True)
class Go(Action):
    """A step in the history of the tab."""

    type = "go"
    allowed = {"direction": ("forward", "backward")}
    direction: str


@dataclass(frozen=True)
class JumpTo(Action):
    """An address is opened."""

    type = "jump_to"
    url: str
    new_tab: bool = False


@dataclass(frozen=True)
class SwitchTab(Action):
    """Another tab is shown. Tabs are counted from 1."""

    type = "switch_tab"
    tab: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tab < 1:
            raise ValueError(f"tab {self.tab} is below 1")


@dataclass(frozen=True)
class UserInput(Action):
    """The agent needs the user, because it cannot continue alone."""

    type = "user_input"
    message: str = ""


@dataclass(frozen=True)
class Finish(Action):
    """The agent declares that the task is done, and may answer a question."""

    type = "finish"
    answer: str = ""


@dataclass(frozen=True)
class Noop(Action):
    """Nothing is done. An answer that cannot be parsed becomes this action, too."""

    type = "none"


ACTIONS: dict[str, type[actions.Action]] = {
    a.type: a
    for a in (Click, Hover, Select, TypeString, ScrollPage, Go, JumpTo, SwitchTab, UserInput, Finish, Noop)
}
