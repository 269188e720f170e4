import unittest
from typing import Any

from collabui_env import NO_ID, Element, Step, Task, Template, mobile, web
from collabui_env.checks import ContractError, png, right, splits, step
from tests.support import PNG, Lights

E = Element
STEPS: list[tuple[str, str, Any, str]] = [
    ("step", "mobile", None, "step() returned a value of type NoneType, expected a Step"),
    ("step", "mobile", {"elements": []}, "step() returned a value of type dict, expected a Step"),
    ("step", "mobile", Step("abc"), "step() returned elements of type str, expected a list"),  # type: ignore
    ("step", "mobile", Step([1]), "step() returned elements[0] of type int, expected an Element"),  # type: ignore
    ("step", "mobile", Step([E(3, "a"), E(3, "b")]), "step() returned elements[1] with index 3 after index 3"),
    ("step", "mobile", Step([E(-1, "a")]), "elements[0] with index -1, expected a whole number from 0"),
    ("step", "mobile", Step([E(0, "")]), "step() returned elements[0] without a role"),
    ("step", "mobile", Step([E(0, "a", text=5)]), "whose text is of type int, expected str"),  # type: ignore
    ("step", "mobile", Step([E(0, "a", text="\ud800")]), "elements[0] whose text cannot be written as UTF-8"),
    ("step", "mobile", Step([E(0, "a", state="on")]), "whose state is of type str, expected a list of texts"),
    ("step", "mobile", Step([E(0, "a", bounds=(0, 1))]), "bounds are (0, 1), expected whole numbers"),  # type: ignore
    ("step", "mobile", Step([E(0, "a", bounds=(0, 0, -1, 1))]), "width and height must not be negative"),
    ("step", "mobile", Step([E(0, "a", visible=1)]), "whose visible is 1, expected True or False"),  # type: ignore
    ("step", "mobile", Step([E(0, "a", target=7)]), "elements[0] with the target 7, which is the index of no element"),
    ("step", "mobile", Step([E(0, "a", id="x")]), "with the id 'x': elements of the mobile family have none"),
    ("step", "web", Step([E(0, "a")]), "elements[0] without an id"),
    ("step", "web", Step([E(0, "a", id="x"), E(1, "a", id="x")]), "elements[1] with the id 'x', which another"),
    ("step", "web", Step([], done="yes"), "step() returned done='yes', expected True or False"),  # type: ignore
    ("step", "web", Step([], score=float("nan")), "step() returned score=nan, expected a finite number"),
    ("step", "web", Step([], width=1.5), "step() returned width=1.5, expected a whole number"),  # type: ignore
    ("reset", "web", Step([]), "reset() returned a Step without a goal"),
    ("reset", "web", Step([], goal="g", done=True), "reset() returned done=True"),
]
T = Template
SPLITS: list[tuple[Any, str]] = [
    (None, "splits() returned None, expected a mapping"),
    ({}, "splits() returned {}, expected a mapping"),
    ({"tests": []}, "splits() has the split 'tests', known are train, val, test-seeds, test-templates, test-apps"),
    ({"train": "abc"}, "splits()['train'] is of type str, expected a list of Template"),
    ({"train": ["a"]}, "splits()['train'][0] is of type str, expected a Template"),
    ({"train": [T("", 1)]}, "splits()['train'][0].name is empty"),
    ({"train": [T("a", 0)]}, "splits()['train'][0].max_steps is 0, expected a whole number from 1"),
    ({"train": [T("a", 1), T("a", 2)]}, "splits()['train'] has the template 'a' twice"),
    ({"train": [T("a", 1)], "test-templates": [T("a", 1)]}, "the template 'a' is in train and in test-templates"),
]


class ChecksTest(unittest.TestCase):
    def test_wrong_steps_are_named(self) -> None:
        for call, family, got, want in STEPS:
            with self.subTest(want), self.assertRaises(ContractError) as caught:
                step(got, call, family)
            self.assertIn(want, str(caught.exception))

    def test_right_steps_pass(self) -> None:
        step(Step([E(0, "a"), E(7, "label", target=0)]), "step", "mobile")
        step(Step([E(0, "a", id=NO_ID), E(1, "a", id=NO_ID)], goal="g", score=1), "reset", "web")

    def test_wrong_splits_are_named(self) -> None:
        for got, want in SPLITS:
            with self.subTest(want), self.assertRaises(ContractError) as caught:
                splits(got)
            self.assertIn(want, str(caught.exception))

    def test_the_experts_action_comes_first(self) -> None:
        env = Lights()
        env.reset(Task("two", "test-templates", 1, 6))
        first, second = env.judge()
        self.assertEqual([second, first], right(env))

    def test_what_helps_is_checked(self) -> None:
        class Wrong(Lights):
            found: Any
            advice: Any

            def judge(self) -> Any:
                return self.found

            def expert(self) -> Any:
                return self.advice

        env = Wrong()
        for env.found, env.advice, want in (
            (5, None, "judge() returned a value of type int, expected a list of actions"),
            ([web.Noop()], None, "judge() returned [0] of the web family, expected one of the mobile family"),
            (["click"], None, "judge() returned [0] of type str, expected an action of the module mobile"),
            ([mobile.Wait()], mobile.Click(1), "which is none of the judge's 1 actions"),
            ([], 5, "expert() returned a value of type int, expected an action"),
        ):
            with self.subTest(want), self.assertRaises(ContractError) as caught:
                right(env)
            self.assertIn(want, str(caught.exception))
        env.found, env.advice = [], mobile.Click(1)
        self.assertEqual([], right(env), "the judge cannot tell")

    def test_a_screenshot_is_a_png(self) -> None:
        self.assertEqual(PNG, png(PNG))
        for wrong in (None, b"GIF89a", "text"):
            with self.assertRaises(ContractError):
                png(wrong)

    def test_chance_depends_on_the_task_and_the_path_alone(self) -> None:
        task = Task("a", "train", 7, 3)
        # The message must be the same on every version of Python.
        self.assertEqual([3, 2, 1, 4, 0], task.rng("x").sample(range(5), 5))
        draws = [Task("a", "train", 7, 9).rng("x"), task.rng("y"), Task("b", "train", 7, 3).rng("x"), task.rng()]
        self.assertEqual([True, False, False, False], [d.random() == task.rng("x").random() for d in draws])
