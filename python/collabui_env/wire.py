"""The frames of the profile collabui/1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from collabui_env import actions, mobile, web
from collabui_env.environment import Environment
from collabui_env.types import Step, Task

PROFILE = "collabui/1"
LONGEST_MESSAGE = 500  # characters of an error
KNOWN: dict[str, dict[str, type[actions.Action]]] = {actions.MOBILE: mobile.ACTIONS, actions.WEB: web.ACTIONS}


class Refusal(Exception):
    """An answer that is an error frame."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def frame(self) -> dict[str, Any]:
        return {"type": "error", "data": {"code": self.code, "message": str(self)[:LONGEST_MESSAGE]}}


def read_frame(raw: str | bytes) -> tuple[str, dict[str, Any]]:
    """Reads a request: its type and its data."""
    try:
        frame = json.loads(raw if isinstance(raw, str) else "")
    except (ValueError, RecursionError) as e:
        raise Refusal("INVALID_JSON", f"expected a text frame with a JSON object: {e}") from None
    if not isinstance(frame, dict):
        raise Refusal("VALIDATION_ERROR", "expected a JSON object with the keys type and data")
    kind, data = frame.pop("type", None), frame.pop("data", None)
    if kind not in ("reset", "step", "state", "close"):
        raise Refusal("UNKNOWN_TYPE", f"unknown type {kind!r:.100}; known are reset, step, state, close")
    if frame:
        raise Refusal("VALIDATION_ERROR", f"unknown key {next(iter(frame)):.100}; a frame has type and data")
    if data is not None and not isinstance(data, dict):
        raise Refusal("VALIDATION_ERROR", "data must be an object")
    return kind, data or {}


_RESET: dict[str, tuple[type, str]] = {
    "task": (str, "a text"),
    "split": (str, "a text"),
    "seed": (int, "a whole number from 0 to 2^64-1"),
    "max_steps": (int, "a whole number from 1"),
    "right": (bool, "true or false"),
    "episode_id": (str, "a text"),  # OpenEnv's clients send it
}


def read_reset(data: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> tuple[Task, bool]:
    """Reads the data of a reset: the first listed task that it names, and whether it requests the right actions."""
    for key, value in data.items():
        if key not in _RESET:
            raise Refusal("VALIDATION_ERROR", f"unknown key {key:.100}; known are {', '.join(_RESET)}")
        kind, expected = _RESET[key]
        if value is not None and type(value) is not kind:
            raise Refusal("VALIDATION_ERROR", f"{key} must be {expected}, not {value!r:.100}")
    given = {key: value for key, value in data.items() if value is not None}
    seed, name, split = given.get("seed", 0), given.get("task", ""), given.get("split", "")
    if not 0 <= seed < 2**64:
        raise Refusal("VALIDATION_ERROR", f"seed must be {_RESET['seed'][1]}, not {seed}")
    for task in listed:
        if not name or (task["name"] == name and split in ("", task["split"])):
            steps = given.get("max_steps", 0) or task["max_steps"]
            if steps < 1:
                raise Refusal("VALIDATION_ERROR", f"max_steps must be at least 1, not {steps}")
            return Task(task["name"], task["split"], seed, steps), given.get("right", False)
    raise Refusal("UNKNOWN_TASK", f"no task {name!r:.100} in split {split!r:.100}")


def read_action(family: str, data: Mapping[str, Any]) -> actions.Action:
    """Reads the data of a step. The no-op of both families is an action whose type is none."""
    if len(data) == 1 and "none" in (data.get("action_type"), data.get("action")):
        return web.Noop() if family == actions.WEB else mobile.Wait()
    try:
        return actions.from_json(KNOWN[family], family, data)
    except ValueError as e:
        raise Refusal("VALIDATION_ERROR", str(e)) from None


def description(env: Environment) -> dict[str, Any]:
    """Returns the description of an environment in a state frame."""
    splits = env.splits()
    tasks = [
        {"name": t.name, "group": t.group, "split": split, "max_steps": t.max_steps}
        for split in splits
        for t in sorted(splits[split], key=lambda t: t.name)
    ]
    return {
        "profile": PROFILE,
        "suite": env.name or type(env).__name__,
        "title": env.title or env.name or type(env).__name__,
        "family": env.family,
        "version": env.version,
        "splits": list(splits),
        "tasks": tasks,
        "capabilities": env.capabilities(),
    }


def elements(step: Step) -> list[dict[str, Any]]:
    """Returns the elements of a step. Empty fields are left out."""
    found = []
    for e in step.elements:
        always = {"i": e.index, "role": e.role, "bounds": list(e.bounds), "visible": e.visible}
        rest = {"id": e.id, "text": e.text, "desc": e.desc, "value": e.value, "state": list(e.state)}
        flags = {"editable": e.editable, "occluded": e.occluded}
        target = {} if e.target is None else {"target": e.target}
        found.append(always | {k: v for k, v in (rest | flags).items() if v} | target)
    return found
