"""A connection, which answers frames, and plays one episode at a time in its own thread."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

from collabui_env import checks, wire
from collabui_env.actions import Action
from collabui_env.environment import Environment, InvalidAction, TaskError
from collabui_env.types import Step, Task
from collabui_env.wire import Refusal

OPEN_LIMIT = 5.0  # seconds to wait for a place
CLOSE_LIMIT = 5.0  # seconds to wait for the environment to tear down before the connection ends

T = TypeVar("T")
log = logging.getLogger("collabui_env")


class Worker:
    """A thread that runs one call after another. A call that hangs does not keep the program from ending."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        Thread(target=self._run, name="environment", daemon=True).start()

    def call(self, function: Callable[[], T]) -> Future[T]:
        """Runs a function after the earlier calls."""
        future: Future[T] = Future()
        self._calls.put((future, function))
        return future

    def end(self) -> None:
        """Ends the thread after the earlier calls."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function = call
            future.set_running_or_notify_cancel()
            try:
                future.set_result(function())
            except Exception as e:  # noqa: BLE001
                # An asyncio future takes no StopIteration.
                future.set_exception(RuntimeError("StopIteration") if isinstance(e, StopIteration) else e)
            except BaseException as e:  # noqa: BLE001 - sys.exit() in an environment must not end the server
                future.set_exception(RuntimeError(f"{type(e).__name__}: {e}"))


@dataclass
class Episode:
    """The episode that a session plays."""

    task: Task
    asks: bool  # whether the client requested the right actions
    goal: str
    last: Step
    right: list[Action]
    steps: int = 0
    over: bool = False


class Session:
    """A connection. All sessions of a server share its places."""

    def __init__(
        self, make: Callable[[], Environment], description: dict[str, Any], places: asyncio.Semaphore
    ) -> None:
        self._make, self._description, self._places = make, description, places
        self._worker: Worker | None = None
        self._env: Environment | None = None  # only the worker's thread uses it
        self._episode: Episode | None = None
        self._ended = False

    async def answer(self, raw: str | bytes) -> dict[str, Any] | None:
        """Answers a frame. None means that the session ends."""
        kind, data = wire.read_frame(raw)
        if kind == "reset":
            return {"type": "observation", "data": await self._reset(data)}
        if kind == "step":
            return {"type": "observation", "data": await self._step(data)}
        if kind == "state":
            return {"type": "state", "data": await self._state(data)}
        return None

    async def end(self) -> None:
        """Tears down and frees the place. It waits for a while; a call that hangs keeps its place until it returns."""
        self._ended = True
        worker, self._worker = self._worker, None
        if worker is None:
            return
        loop = asyncio.get_running_loop()
        closed = worker.call(self._close)
        worker.end()

        def free(_: Future[None]) -> None:
            with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
                loop.call_soon_threadsafe(self._places.release)

        closed.add_done_callback(free)
        try:
            await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(closed)), CLOSE_LIMIT)
        except asyncio.TimeoutError:
            log.warning("a call of the environment has not returned; its place is taken until it does")

    async def _run(self, function: Callable[[], T]) -> T:
        assert self._worker is not None
        return await asyncio.wrap_future(self._worker.call(function))

    async def _reset(self, data: dict[str, Any]) -> dict[str, Any]:
        task, asks = wire.read_reset(data, self._description["tasks"])
        if self._worker is None:
            try:
                await asyncio.wait_for(self._places.acquire(), OPEN_LIMIT)
            except asyncio.TimeoutError:
                raise Refusal("CAPACITY_REACHED", f"no place within {OPEN_LIMIT:.0f} s") from None
            if self._ended:  # the connection was lost while it waited
                self._places.release()
                raise Refusal("SESSION_ERROR", "the connection is lost")
            self._worker = Worker()

        def begin() -> tuple[Step, list[Action]]:
            self._env = self._env or checks.environment(self._make())
            first = checks.step(self._env.reset(task), "reset", self._description["family"])
            return first, checks.right(self._env) if asks else []

        self._episode = None
        first, right = await self._guarded(begin)
        self._episode = Episode(task, asks, first.goal, first, right)
        return self._observation(self._episode, "")

    async def _step(self, data: dict[str, Any]) -> dict[str, Any]:
        episode = self._episode
        if episode is None or episode.over:
            raise Refusal("SESSION_ERROR", "there is no episode: send a reset first")
        action = wire.read_action(self._description["family"], data)

        def act() -> tuple[Step, list[Action], str]:
            assert self._env is not None
            try:
                got = self._env.step(action)
            except InvalidAction as e:
                return episode.last, episode.right, str(e) or "it does nothing here"
            step = checks.step(got, "step", self._description["family"])
            # Whether the budget ends the episode is decided below; after the end, the right actions are not needed.
            over = step.done or episode.steps + 1 >= episode.task.max_steps
            return step, checks.right(self._env) if episode.asks and not over else [], ""

        episode.last, episode.right, mistake = await self._guarded(act)
        episode.steps += 1
        return self._observation(episode, mistake)

    async def _guarded(self, function: Callable[[], T]) -> T:
        """Runs a function of the environment. If it fails, the environment is closed, because its state is unknown."""
        try:
            return await self._run(function)
        except Exception as e:
            self._episode = None
            log.error("the environment failed", exc_info=e)
            await self._run(self._close)
            code = "UNKNOWN_TASK" if isinstance(e, TaskError) else "EXECUTION_ERROR"
            raise Refusal(code, str(e) if isinstance(e, checks.ContractError) else f"{type(e).__name__}: {e}") from None

    def _close(self) -> None:
        env, self._env = self._env, None
        if env is None:
            return
        try:
            env.close()
        except Exception:
            log.exception("the environment could not be closed")

    def _observation(self, episode: Episode, mistake: str) -> dict[str, Any]:
        step = episode.last
        truncated = not step.done and episode.steps >= episode.task.max_steps
        episode.over = step.done or truncated
        observation = {
            "goal": episode.goal,
            "elements": wire.elements(step),
            "screen": {"w": step.width, "h": step.height},
            "max_steps": episode.task.max_steps,
            "truncated": truncated,
            "last_action_error": None,
        }
        if mistake:
            observation["last_action_error"] = {"code": "INVALID_ACTION", "message": mistake[: wire.LONGEST_MESSAGE]}
        if episode.asks and not episode.over:
            observation["right"] = [a.to_json() for a in episode.right]
        if episode.over:
            score = float(step.success)
            raw = score if step.score is None else float(step.score)
            observation |= {"score": score, "success": step.success, "info": {"raw": raw}}
        reward = float(episode.over and step.success)
        return {"observation": observation, "reward": reward, "done": episode.over}

    async def _state(self, data: dict[str, Any]) -> dict[str, Any]:
        if set(data) - {"image"} or data.get("image") not in (None, "png"):
            raise Refusal("VALIDATION_ERROR", 'the data of a state frame may hold "image": "png" and nothing else')
        if data.get("image") is None:
            return self._description | {"step_count": self._episode.steps if self._episode else 0}
        if "screenshot" not in self._description["capabilities"]:
            raise Refusal("VALIDATION_ERROR", "this environment has no screenshots")
        if self._episode is None:
            raise Refusal("SESSION_ERROR", "there is no episode: send a reset first")

        def show() -> bytes:
            assert self._env is not None
            return checks.png(self._env.screenshot())

        png = await self._guarded(show)
        return {"image": {"mime": "image/png", "b64": base64.b64encode(png).decode()}}
