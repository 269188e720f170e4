"""Finds the environment that a command names."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable
from types import ModuleType

from collabui_env.environment import App, Environment


class LoadError(Exception):
    """There is no such environment."""


def load(spec: str) -> Callable[[], Environment]:
    """Finds FILE_OR_MODULE[:NAME]: a class derived from Environment, an App, or a function that returns an environment.
    Without NAME, the file must have exactly one such class or App."""
    place, _, name = spec.partition(":")
    module = _module(place)
    if name:
        found = getattr(module, name, None)
        if not callable(found):
            raise LoadError(f"{place} has no class, App or function {name!r}")
        made: Callable[[], Environment] = found
        return made

    candidates = {n: v for n, v in vars(module).items() if _is_environment(v, module)}
    if len(candidates) != 1:
        names = ", ".join(sorted(candidates)) or "none"
        raise LoadError(f"expected one environment in {place}, found {names}: name one, as in {place}:NAME")
    only: Callable[[], Environment] = next(iter(candidates.values()))
    return only


def _is_environment(value: object, module: ModuleType) -> bool:
    if isinstance(value, App):
        return True
    subclass = inspect.isclass(value) and issubclass(value, Environment) and not inspect.isabstract(value)
    return subclass and getattr(value, "__module__", "") == module.__name__


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as e:
            if e.name and place.startswith(e.name):
                raise LoadError(f"there is no module {place!r} (a file ends in .py)") from None
            raise
    if not os.path.isfile(place):
        raise LoadError(f"there is no file {place}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
    name = "environment_" + os.path.basename(place)[: -len(".py")]  # a loaded module may have the file's name
    spec = importlib.util.spec_from_file_location(name, place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
