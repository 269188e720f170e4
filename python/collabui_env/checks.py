"""Checks of an environment's attributes and return values. A ContractError describes exactly what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collabui_env.actions import KEYS, WEB, Action
from collabui_env.environment import Environment
from collabui_env.types import NO_ID, SPLITS, TEST_APPS, TEST_TEMPLATES, TRAIN, Element, Step, Template


class ContractError(Exception):
    """An environment broke its contract."""


def _kind(value: object) -> str:
    return type(value).__name__


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _text(value: object, where: str) -> None:
    if not isinstance(value, str):
        raise ContractError(f"{where} is of type {_kind(value)}, expected str")
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise ContractError(f"{where} cannot be written as UTF-8: {e.reason} at {e.start}") from None


def environment(env: object) -> Environment:
    """Checks the attributes of an environment."""
    if not isinstance(env, Environment):
        raise ContractError(f"expected an Environment, not a value of type {_kind(env)}")
    for attribute in ("name", "title", "version"):
        _text(getattr(env, attribute), attribute)
    if not _whole(env.places, 1):
        raise ContractError(f"places is {env.places!r:.100}, expected a whole number from 1")
    if not _whole(env.port, 0) or env.port > 65535:
        raise ContractError(f"port is {env.port!r:.100}, expected a whole number from 0 to 65535")
    if env.family not in KEYS:
        raise ContractError(f"family is {env.family!r:.100}, expected one of {', '.join(KEYS)}")
    return env


def splits(found: object) -> None:
    """Checks the splits: their names, and that train, test-templates and test-apps share no template."""
    if not isinstance(found, Mapping) or not found:
        raise ContractError(f"splits() returned {found!r:.100}, expected a mapping from splits to lists of Template")
    homes: dict[str, str] = {}
    for split, templates in found.items():
        if split not in SPLITS:
            raise ContractError(f"splits() has the split {split!r}, known are {', '.join(SPLITS)}")
        if not isinstance(templates, Sequence) or isinstance(templates, str):
            raise ContractError(f"splits()[{split!r}] is of type {_kind(templates)}, expected a list of Template")
        names: set[str] = set()
        for i, template in enumerate(templates):
            _template(template, f"splits()[{split!r}][{i}]")
            if template.name in names:
                raise ContractError(f"splits()[{split!r}] has the template {template.name!r} twice")
            names.add(template.name)
            if split in (TRAIN, TEST_TEMPLATES, TEST_APPS) and homes.setdefault(template.name, split) != split:
                raise ContractError(f"the template {template.name!r} is in {homes[template.name]} and in {split}")


def _template(template: object, where: str) -> None:
    if not isinstance(template, Template):
        raise ContractError(f"{where} is of type {_kind(template)}, expected a Template")
    _text(template.name, f"{where}.name")
    _text(template.group, f"{where}.group")
    if not template.name:
        raise ContractError(f"{where}.name is empty")
    if not _whole(template.max_steps, 1):
        raise ContractError(f"{where}.max_steps is {template.max_steps!r}, expected a whole number from 1")


def step(got: object, call: str, family: str) -> Step:
    """Checks the result of reset or step."""
    if not isinstance(got, Step):
        raise ContractError(f"{call}() returned a value of type {_kind(got)}, expected a Step")
    if not isinstance(got.elements, Sequence) or isinstance(got.elements, str):
        raise ContractError(f"{call}() returned elements of type {_kind(got.elements)}, expected a list of Element")
    last = -1
    ids: set[str] = set()
    for i, element in enumerate(got.elements):
        where = f"{call}() returned elements[{i}]"
        if not isinstance(element, Element):
            raise ContractError(f"{where} of type {_kind(element)}, expected an Element")
        if not _whole(element.index, 0):
            raise ContractError(f"{where} with index {element.index!r}, expected a whole number from 0")
        if element.index <= last:
            raise ContractError(f"{where} with index {element.index} after index {last}: indices must ascend")
        last = element.index
        _element(element, where, family)
        if element.id in ids and element.id not in ("", NO_ID):
            raise ContractError(f"{where} with the id {element.id!r}, which another element has, too")
        ids.add(element.id)
    _targets(got, call)
    _ending(got, call)
    return got


def _element(element: Element, where: str, family: str) -> None:
    for field in ("role", "text", "desc", "value", "id"):
        _text(getattr(element, field), f"{where} whose {field}")
    if not element.role:
        raise ContractError(f"{where} without a role")
    if not isinstance(element.state, Sequence) or isinstance(element.state, str):
        raise ContractError(f"{where} whose state is of type {_kind(element.state)}, expected a list of texts")
    for word in element.state:
        _text(word, f"{where} whose state")
    for field in ("editable", "visible", "occluded"):
        if not isinstance(getattr(element, field), bool):
            raise ContractError(f"{where} whose {field} is {getattr(element, field)!r:.100}, expected True or False")
    bounds = element.bounds
    if not isinstance(bounds, Sequence) or len(bounds) != 4 or not all(_whole(b, -(2**31)) for b in bounds):
        raise ContractError(f"{where} whose bounds are {bounds!r:.100}, expected whole numbers x, y, width, height")
    if bounds[2] < 0 or bounds[3] < 0:
        raise ContractError(f"{where} whose bounds are {bounds!r}: width and height must not be negative")
    if family == WEB and not element.id:
        raise ContractError(f"{where} without an id: elements of the web family need one, or NO_ID")
    if family != WEB and element.id:
        raise ContractError(f"{where} with the id {element.id!r}: elements of the mobile family have none")


def _targets(got: Step, call: str) -> None:
    known = {e.index for e in got.elements}
    for i, element in enumerate(got.elements):
        if element.target is not None and element.target not in known:
            where = f"{call}() returned elements[{i}]"
            raise ContractError(f"{where} with the target {element.target!r}, which is the index of no element")


def _ending(got: Step, call: str) -> None:
    _text(got.goal, f"{call}() returned a goal that")
    if call == "reset" and not got.goal:
        raise ContractError("reset() returned a Step without a goal")
    for field in ("done", "success"):
        if not isinstance(getattr(got, field), bool):
            raise ContractError(f"{call}() returned {field}={getattr(got, field)!r:.100}, expected True or False")
    if call == "reset" and got.done:
        raise ContractError("reset() returned done=True: an episode begins with at least one step to go")
    number = isinstance(got.score, (int, float)) and not isinstance(got.score, bool)
    if got.score is not None and not number:
        raise ContractError(f"{call}() returned score={got.score!r:.100}, expected a number or None")
    if got.score is not None and not abs(got.score) < float("inf"):
        raise ContractError(f"{call}() returned score={got.score!r}, expected a finite number")
    for field in ("width", "height"):
        if not _whole(getattr(got, field), 0):
            raise ContractError(f"{call}() returned {field}={getattr(got, field)!r:.100}, expected a whole number")


def _action(action: object, where: str, family: str) -> Action:
    if not isinstance(action, Action):
        raise ContractError(f"{where} of type {_kind(action)}, expected an action of the module {family}")
    if action.family != family:
        raise ContractError(f"{where} of the {action.family} family, expected one of the {family} family")
    return action


def right(env: Environment) -> list[Action]:
    """Returns the actions that help now, by the judge and the expert. The expert's action comes first."""
    can = env.capabilities()
    judged: list[Action] = []
    if "judge" in can:
        found: Any = env.judge()
        if not isinstance(found, Sequence):
            raise ContractError(f"judge() returned a value of type {_kind(found)}, expected a list of actions")
        judged = [_action(a, f"judge() returned [{i}]", env.family) for i, a in enumerate(found)]
    if "expert" not in can:
        return judged
    advice = env.expert()
    if advice is None:
        return judged
    _action(advice, "expert() returned a value", env.family)
    if judged and advice not in judged:
        raise ContractError(f"expert() returned {advice.to_json()}, which is none of the judge's {len(judged)} actions")
    if "judge" in can and not judged:
        return []  # the judge does not know
    return [advice, *(a for a in judged if a != advice)]


def png(got: object) -> bytes:
    """Checks a screenshot."""
    if not isinstance(got, bytes) or not got.startswith(b"\x89PNG\r\n\x1a\n"):
        raise ContractError(f"screenshot() returned a value of type {_kind(got)}, expected the bytes of a PNG")
    return got
