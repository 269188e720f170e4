"""The two ways to write an environment: a class, or functions on an App."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from collabui_env.actions import MOBILE, Action
from collabui_env.types import Splits, Step, Task


_OPTIONAL = ("expert", "judge", "screenshot")


class InvalidAction(Exception):
    """Raised by step for a mistake of the agent, who reads the text: nothing was executed, but the step counts."""


class TaskError(Exception):
    """Raised by reset if the task itself is at fault. Training takes another task; a test reports it as missing."""


class Environment(ABC):
    """An environment plays one episode at a time. Every session has its own environment and thread, in which the
    environment is made, called and closed, so calls may block.

    An exception of reset or step voids the episode: it is played again in a new environment, and never scored. Raise
    InvalidAction for mistakes of the agent.
    """

    name: str = ""  # by default the name of the class
    title: str = ""  # in results; results with different titles are never compared
    family: str = MOBILE  # or "web"
    version: str = ""  # of pages or data; results of different versions are never mixed
    replayable: bool = False  # observations are a function of the task and the actions
    places: int = 4  # sessions that play at a time; 1 if all environments of a process share something
    port: int = 0  # where serve listens; 0 takes a free port

    @abstractmethod
    def splits(self) -> Splits:
        """Returns the templates of every split; see standard_splits."""

    @abstractmethod
    def reset(self, task: Task) -> Step:
        """Begins an episode. It may follow an episode that did not end."""

    @abstractmethod
    def step(self, action: Action) -> Step:
        """Executes one action."""

    def judge(self) -> Sequence[Action]:
        """Returns all actions that help now; an empty list means that the judge does not know. Optional."""
        raise NotImplementedError

    def expert(self) -> Action | None:
        """Returns one of the judge's actions; None means that the expert does not know. Optional."""
        raise NotImplementedError

    def screenshot(self) -> bytes:
        """Returns the current screen as PNG. Optional."""
        raise NotImplementedError

    def close(self) -> None:
        """Tears down. It is called after every broken episode, and after every session."""

    def capabilities(self) -> list[str]:
        """Returns the capabilities beyond reset and step: the optional members that the class overrides."""
        found = [name for name in _OPTIONAL if getattr(type(self), name) is not getattr(Environment, name)]
        return ["replayable", *found] if self.replayable else found


S = TypeVar("S")
F = TypeVar("F", bound=Callable[..., Any])


class App(Generic[S]):
    """An environment made of functions. reset returns a state of any type, which the other functions get."""

    def __init__(
        self,
        name: str,
        *,
        title: str = "",
        family: str = MOBILE,
        version: str = "",
        replayable: bool = False,
        places: int = 4,
        port: int = 0,
    ) -> None:
        self.name, self.title, self.family, self.version, self.replayable = name, title, family, version, replayable
        self.places, self.port = places, port
        self.functions: dict[str, Callable[..., Any]] = {}

    def splits(self, f: Callable[[], Splits]) -> Callable[[], Splits]:
        """Registers the function that returns the templates of every split."""
        return self._register("splits", f)

    def reset(self, f: Callable[[Task], tuple[S, Step]]) -> Callable[[Task], tuple[S, Step]]:
        """Registers the function that begins an episode. It returns the state and the first step."""
        return self._register("reset", f)

    def step(self, f: Callable[[S, Action], Step]) -> Callable[[S, Action], Step]:
        """Registers the function that executes an action."""
        return self._register("step", f)

    def judge(self, f: Callable[[S], Sequence[Action]]) -> Callable[[S], Sequence[Action]]:
        """Registers the function that returns all actions that help now."""
        return self._register("judge", f)

    def expert(self, f: Callable[[S], Action | None]) -> Callable[[S], Action | None]:
        """Registers the function that returns an action that helps now."""
        return self._register("expert", f)

    def screenshot(self, f: Callable[[S], bytes]) -> Callable[[S], bytes]:
        """Registers the function that returns the screen as PNG."""
        return self._register("screenshot", f)

    def close(self, f: Callable[[S], None]) -> Callable[[S], None]:
        """Registers the function that tears down after an episode."""
        return self._register("close", f)

    def _register(self, name: str, f: F) -> F:
        if name in self.functions:
            raise ValueError(f"the app {self.name} has two functions for {name}")
        self.functions[name] = f
        return f

    def __call__(self) -> Environment:
        """Makes an environment from the functions."""
        missing = [name for name in ("splits", "reset", "step") if name not in self.functions]
        if missing:
            raise ValueError(f"the app {self.name} has no function for {missing[0]}: put @app.{missing[0]} before one")
        return _AppEnvironment(self)


class _AppEnvironment(Environment):
    """The environment of an App, in one session."""

    def __init__(self, app: App[Any]) -> None:
        self.name, self.title, self.family = app.name, app.title, app.family
        self.version, self.replayable = app.version, app.replayable
        self.places, self.port = app.places, app.port
        self.functions = app.functions
        self.states: list[Any] = []  # the state of the episode, if there is an episode

    def splits(self) -> Splits:
        found: Splits = self.functions["splits"]()
        return found

    def reset(self, task: Task) -> Step:
        self.close()
        got = self.functions["reset"](task)
        if not isinstance(got, tuple) or len(got) != 2:
            raise TypeError(f"reset returned {type(got).__name__}, expected a tuple of the state and a Step")
        state, first = got
        self.states = [state]
        step: Step = first
        return step

    def step(self, action: Action) -> Step:
        step: Step = self.functions["step"](self.states[0], action)
        return step

    def judge(self) -> Sequence[Action]:
        actions: Sequence[Action] = self.functions["judge"](self.states[0])
        return actions

    def expert(self) -> Action | None:
        action: Action | None = self.functions["expert"](self.states[0])
        return action

    def screenshot(self) -> bytes:
        png: bytes = self.functions["screenshot"](self.states[0])
        return png

    def close(self) -> None:
        states, self.states = self.states, []
        for state in states:
            if "close" in self.functions:
                self.functions["close"](state)

    def capabilities(self) -> list[str]:
        found = [name for name in _OPTIONAL if name in self.functions]
        return ["replayable", *found] if self.replayable else found
