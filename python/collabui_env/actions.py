"""The base of all actions. The actions themselves are in the modules mobile and web."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

MOBILE, WEB = "mobile", "web"
KEYS = {MOBILE: "action_type", WEB: "action"}  # the key of an action's type, by family
LONGEST_TEXT = 4000  # bytes

_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "int | None": (int, type(None)), "str": (str,), "bool": (bool,)}


@dataclasses.dataclass(frozen=True)
class Action:
    """An action of an agent, of one of the classes in mobile or web. Its fields are checked when it is made."""

    type: ClassVar[str]
    family: ClassVar[str]
    allowed: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # the allowed values of fields that are restricted

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if type(value) not in _TYPES[str(field.type)]:
                raise ValueError(f"{field.name} must be {field.type}, not {type(value).__name__}")
            if field.default is dataclasses.MISSING and value == "":
                raise ValueError(f'action "{self.type}" lacks {field.name}')
            if isinstance(value, str):
                self._check_text(field.name, value)

    def _check_text(self, name: str, value: str) -> None:
        size = len(value.encode("utf-8", "surrogatepass"))
        if size > LONGEST_TEXT:
            raise ValueError(f"{name} of {size} bytes is longer than {LONGEST_TEXT}")
        if name in self.allowed and value not in self.allowed[name]:
            raise ValueError(f'{name} "{value}" is none of {", ".join(self.allowed[name])}')

    def to_json(self) -> dict[str, Any]:
        """Returns the action as agents write it. Fields with their default are left out."""
        given = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        defaults = {f.name: f.default for f in dataclasses.fields(self)}
        return {KEYS[self.family]: self.type} | {n: v for n, v in given.items() if v != defaults[n]}


def from_json(known: Mapping[str, type[Action]], family: str, data: Mapping[str, Any]) -> Action:
    """Reads an action of a family. It raises ValueError if the type, a field or a value is wrong."""
    data = {name: value for name, value in data.items() if value is not None}
    if len(data.keys() & KEYS.values()) > 1:
        raise ValueError('both "action_type" and "action"')
    if KEYS[family] not in data and data.keys() & KEYS.values():
        raise ValueError(f"this environment takes {family} actions")
    name = data.pop(KEYS[family], "")
    kind = known.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"unknown {family} action {name!r:.100}")

    fields = {f.name: f for f in dataclasses.fields(kind)}
    for key in data:
        if key not in fields:
            raise ValueError(f'action "{name}" takes no {key:.100}')
    for key, field in fields.items():
        if key not in data and field.default is dataclasses.MISSING:
            raise ValueError(f'action "{name}" lacks {key}')

    return kind(**data)
