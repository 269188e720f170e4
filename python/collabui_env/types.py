"""What an environment gets and returns: tasks, elements and steps."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NO_ID = "-"  # the ID of an element on a web page that no action can name

TRAIN, VAL, TEST_SEEDS, TEST_TEMPLATES, TEST_APPS = "train", "val", "test-seeds", "test-templates", "test-apps"
SPLITS = (TRAIN, VAL, TEST_SEEDS, TEST_TEMPLATES, TEST_APPS)


@dataclass(frozen=True)
class Template:
    """A kind of task. A seed makes a task of it."""

    name: str
    max_steps: int
    group: str = ""  # a family of templates, for tables


Splits = Mapping[str, Sequence[Template]]


def standard_splits(
    train: Sequence[Template], held_out: Sequence[Template], apps: Sequence[Template] = ()
) -> Splits:
    """Splits as training needs them: val and test-seeds have the templates of train, and no agent is trained on those
    that are held out. apps, if there are any, are templates of apps that occur nowhere else."""
    splits = {TRAIN: train, VAL: train, TEST_SEEDS: train, TEST_TEMPLATES: held_out}
    return splits | ({TEST_APPS: apps} if apps else {})


@dataclass(frozen=True)
class Task:
    """A template with the seed that fills in its parameters and a budget of steps."""

    template: str
    split: str
    seed: int
    max_steps: int

    def rng(self, *path: object) -> random.Random:
        """A generator that depends on the seed, the template, the split and the path, and on nothing else. Draw every
        random choice of an episode from such generators."""
        parts = (self.seed, self.template, self.split, *path)
        digest = hashlib.sha256("/".join(str(p) for p in parts).encode()).digest()
        return random.Random(int.from_bytes(digest[:8], "big"))


@dataclass(frozen=True)
class Element:
    """One element of the screen."""

    index: int  # mobile actions name an element by it; it ascends along the list, and gaps are allowed
    role: str  # such as button, switch, field, text
    text: str = ""
    desc: str = ""
    value: str = ""  # what a field holds
    state: Sequence[str] = ()  # of on, off, checked, unchecked, selected, disabled, focused, expanded, collapsed
    editable: bool = False  # it takes typed text
    bounds: tuple[int, int, int, int] = (0, 0, 0, 0)  # x, y, width, height
    visible: bool = True
    occluded: bool = False  # another element would take a tap on its centre
    target: int | None = None  # the index of the element that takes the input to this one, such as the field of a label
    id: str = ""  # web actions name an element by it: needed in the web family, empty in the mobile one


@dataclass(frozen=True)
class Step:
    """What reset and step return."""

    elements: Sequence[Element]
    goal: str = ""  # what is to be done; reset sets it
    done: bool = False  # the task ended the episode; the server ends it when the budget is spent
    success: bool = False  # the task is accomplished; what counts is the last step of the episode
    score: float | None = None  # a figure of your own at the end, kept as information
    width: int = 0  # of the screen, in the unit of the bounds
    height: int = 0
