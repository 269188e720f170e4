import json
import unittest
from pathlib import Path

from collabui_env import mobile, web
from collabui_env.actions import LONGEST_TEXT, Action
from collabui_env.wire import Refusal, read_action

GOOD: dict[str, list[tuple[Action, str]]] = {
    "mobile": [
        (mobile.Click(0), '{"action_type":"click","index":0}'),
        (mobile.InputText("x", 3), '{"action_type":"input_text","text":"x","index":3}'),
        (mobile.Scroll("down"), '{"action_type":"scroll","direction":"down"}'),
        (mobile.Scroll("left", 2), '{"action_type":"scroll","direction":"left","index":2}'),
        (mobile.Status("complete"), '{"action_type":"status","goal_status":"complete"}'),
    ],
    "web": [
        (web.Click("A"), '{"action":"click","element":"A"}'),
        (web.TypeString("A", "x"), '{"action":"type_string","element":"A","text":"x"}'),
        (web.TypeString("A", "x", True), '{"action":"type_string","element":"A","text":"x","press_enter":true}'),
        (web.JumpTo("u", new_tab=True), '{"action":"jump_to","url":"u","new_tab":true}'),
        (web.Finish(), '{"action":"finish"}'),
        (web.Noop(), '{"action":"none"}'),
    ],
}
BAD = {
    "mobile": {
        "{}": "unknown mobile action ''",
        '{"action_type":"fly"}': "unknown mobile action 'fly'",
        '{"action_type":["fly"]}': "unknown mobile action ['fly']",
        '{"action_type":"click"}': 'action "click" lacks index',
        '{"action_type":"click","index":null}': 'action "click" lacks index',
        '{"action_type":"click","index":"1"}': "index must be int, not str",
        '{"action_type":"click","index":true}': "index must be int, not bool",
        '{"action_type":"click","index":1,"text":"a"}': 'action "click" takes no text',
        '{"action_type":"answer","text":""}': 'action "answer" lacks text',
        '{"action_type":"scroll","direction":"north"}': 'direction "north" is none of up, down, left, right',
        '{"action_type":"status","goal_status":"done"}': 'goal_status "done" is none of complete, infeasible',
        '{"action":"click","element":"A"}': "this environment takes mobile actions",
        '{"action":"finish","action_type":"status"}': 'both "action_type" and "action"',
    },
    "web": {
        '{"action":"switch_tab","tab":-1}': "tab -1 is below 1",
        '{"action":"scroll_page","direction":"left"}': 'direction "left" is none of up, down',
        '{"action":"status","goal_status":"complete"}': "unknown web action 'status'",
    },
}


class ActionsTest(unittest.TestCase):
    def test_actions_are_read_and_written_alike(self) -> None:
        for family, cases in GOOD.items():
            for action, raw in cases:
                with self.subTest(raw):
                    self.assertEqual(action, read_action(family, json.loads(raw)))
                    self.assertEqual(json.loads(raw), action.to_json())

    def test_mistakes_are_named(self) -> None:
        for family, cases in BAD.items():
            for raw, want in cases.items():
                with self.subTest(raw), self.assertRaises(Refusal) as caught:
                    read_action(family, json.loads(raw))
                self.assertEqual(("VALIDATION_ERROR", want), (caught.exception.code, str(caught.exception)))

    def test_the_no_op_of_both_families_is_read_by_both(self) -> None:
        for key in ("action", "action_type"):
            self.assertEqual(mobile.Wait(), read_action("mobile", {key: "none"}))
            self.assertEqual(web.Noop(), read_action("web", {key: "none"}))

    def test_texts_are_bounded(self) -> None:
        mobile.Answer("é" * (LONGEST_TEXT // 2))
        with self.assertRaisesRegex(ValueError, "text of 4002 bytes is longer than 4000"):
            mobile.Answer("é" * (LONGEST_TEXT // 2 + 1))

    def test_the_schema_is_that_of_the_go_server(self) -> None:
        package = Path(__file__).resolve().parents[1]
        go = package.parent / "envadapters" / "openenv" / "schema.json"
        self.assertEqual(go.read_text(), (package / "collabui_env" / "schema.json").read_text())
