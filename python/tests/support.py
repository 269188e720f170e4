"""Environments and a client for the tests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import unittest
from collections.abc import Callable, Sequence
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from collabui_env import Action, App, Element, Environment, InvalidAction, Splits, Step, Task, TaskError, Template
from collabui_env import mobile, standard_splits
from collabui_env.server import Server

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


class Lights(Environment):
    """A row of lights, some of which must be switched on. It misbehaves according to its template."""

    title = "Lights of a test"
    version = "3"
    replayable = True
    made: list[Lights] = []

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.closed = 0
        self.hangs, self.hang = threading.Event(), threading.Event()
        Lights.made.append(self)

    def splits(self) -> Splits:
        faults = [Template(name, 4) for name in ("hang", "raise", "exit", "stop", "wrong", "task")]
        return standard_splits([Template("one", 4, "lights"), *faults], [Template("two", 6)])

    def reset(self, task: Task) -> Step:
        assert threading.get_ident() == self.thread
        if task.template == "task":
            raise TaskError("nobody can do this")
        self.task = task
        self.wanted = sorted(task.rng("wanted").sample(range(5), 2 if task.template == "two" else 1))
        self.on: set[int] = set()
        return self._show(goal=f"Switch on {self.wanted}")

    def step(self, action: Action) -> Step:
        assert threading.get_ident() == self.thread
        self._misbehave()
        if isinstance(action, mobile.Status):
            return self._show(done=True, success=self.on == set(self.wanted))
        if isinstance(action, mobile.Click) and action.index < 5:
            self.on ^= {action.index}
        elif not isinstance(action, mobile.Wait):
            raise InvalidAction(f"{action.type} does nothing here")
        return self._show()

    def _misbehave(self) -> None:
        if self.task.template == "hang":
            self.hangs.set()
            self.hang.wait(20)
        if self.task.template == "raise":
            raise OSError("the lamp is broken " * 100)
        if self.task.template == "exit":
            raise SystemExit(3)
        if self.task.template == "stop":
            next(iter(()))

    def _show(self, goal: str = "", done: bool = False, success: bool = False) -> Step:
        elements = [Element(i, "switch", state=["on" if i in self.on else "off"]) for i in range(5)]
        if self.task.template == "wrong" and self.on:
            elements.reverse()
        return Step(elements, goal=goal, done=done, success=success, width=50, height=10)

    def judge(self) -> Sequence[Action]:
        assert threading.get_ident() == self.thread
        wrong = [mobile.Click(i) for i in range(5) if (i in self.on) != (i in self.wanted)]
        return wrong or [mobile.Status("complete")]

    def expert(self) -> Action | None:
        return self.judge()[-1]

    def screenshot(self) -> bytes:
        return PNG

    def close(self) -> None:
        assert threading.get_ident() == self.thread
        self.closed += 1


def lights_app() -> App[Lights]:
    """The same environment as functions."""
    app = App[Lights]("Lights", title=Lights.title, version="3", replayable=True)

    @app.splits
    def splits() -> Splits:
        return Lights().splits()

    @app.reset
    def reset(task: Task) -> tuple[Lights, Step]:
        state = Lights()
        return state, state.reset(task)

    app.step(lambda state, action: state.step(action))
    app.judge(lambda state: state.judge())
    app.expert(lambda state: state.expert())
    app.screenshot(lambda state: state.screenshot())
    app.close(lambda state: state.close())
    return app


class Client:
    """A client that sends frames and reads answers."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        await self.socket.send(json.dumps({"type": kind, "data": data}))
        answer: dict[str, Any] = json.loads(await self.socket.recv())
        return answer["data"] | ({"code": ""} if answer["type"] != "error" else {})  # type: ignore[no-any-return]

    async def code(self, kind: str, **data: Any) -> str:
        return str((await self.ask(kind, **data))["code"])


class ServerTest(unittest.IsolatedAsyncioTestCase):
    """A test with a server."""

    async def asyncSetUp(self) -> None:
        self.stack = contextlib.AsyncExitStack()
        self.addAsyncCleanup(self.stack.aclose)
        asyncio.get_running_loop().slow_callback_duration = 60  # a busy machine is not a failure

    async def serve(self, make: Callable[[], Environment] = Lights, places: int | None = 2) -> str:
        Lights.made = []
        return await self.stack.enter_async_context(Server(make, places).listening())

    async def client(self, address: str, **options: Any) -> Client:
        return Client(await self.stack.enter_async_context(connect(address, **options)))
