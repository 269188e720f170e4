"""The arguments and results of environments: tasks, elements and steps."""

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
    """A kind of task. A seed turns it into a task."""

    name: str
    max_steps: int
    group: str = ""  # a family of templates, for tables


Splits = Mapping[str, Sequence[Template]]


def standard_splits(
    train: Sequence[Template], held_out: Sequence[Template], apps: Sequence[Template] = ()
) -> Splits:
    """Returns the splits that training needs: val and test-seeds have the templates of train, and no agent is trained
    on the held-out templates. apps, if given, are templates of apps that occur nowhere else."""
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
        """Returns a generator that depends only on the seed, the template, the split and the path. Draw every random
        choice of an episode from such generators."""
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
    value: str = ""  # the content of a field
    state: Sequence[str] = ()  # of on, off, checked, unchecked, selected, disabled, focused, expanded, collapsed
    editable: bool = False  # whether it accepts typed text
    bounds: tuple[int, int, int, int] = (0, 0, 0, 0)  # x, y, width, height
    visible: bool = True
    occluded: bool = False  # whether another element would receive a tap on its centre
    target: int | None = None  # the index of the element that receives the input to this one: a label's field
    id: str = ""  # web actions name an element by it: required in the web family, empty in the mobile family


@dataclass(frozen=True)
class Step:
    """The result of reset or step."""

    elements: Sequence[Element]
    goal: str = ""  # the task's goal, which reset sets
    done: bool = False  # the task ended the episode; the server ends it when the budget is spent
    success: bool = False  # the task is accomplished; the last step of the episode counts
    score: float | None = None  # your own figure at the end, kept as information
    width: int = 0  # of the screen, in the unit of the bounds
    height: int = 0
