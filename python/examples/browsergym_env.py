"""BrowserGym's environments for collabui. They have one place, because Playwright belongs to one thread."""

import functools

import browsergym.core
import gymnasium
from collabui_env import Action, Element, Environment, InvalidAction, Splits, Step, Task, Template
from collabui_env import chromium, standard_splits, web
from playwright.sync_api import BrowserType, sync_playwright

# BrowserGym starts a second browser to which no option can be given.
BrowserType.launch = functools.partialmethod(BrowserType.launch, executable_path=chromium())

EDITABLE = ("textbox", "searchbox", "combobox")
PAGE = "data:text/html,<label>Name <input></label><button onclick=\"document.title = 'sent'\">Send</button>"
TASKS = {"form": {"id": "browsergym/openended", "task_kwargs": {"start_url": PAGE, "goal": "Send the name Ada"}}}
CALLS = {  # the actions as BrowserGym's agents write them; !r turns any text into a literal
    web.Click: lambda a: f"click({a.element!r})",
    web.Hover: lambda a: f"hover({a.element!r})",
    web.Select: lambda a: f"select_option({a.element!r}, {a.option!r})",
    web.TypeString: lambda a: f"fill({a.element!r}, {a.text!r})" + f" press({a.element!r}, 'Enter')" * a.press_enter,
    web.ScrollPage: lambda a: f"scroll(0, {300 if a.direction == 'down' else -300})",
    web.Go: lambda a: "go_back()" if a.direction == "backward" else "go_forward()",
    web.JumpTo: lambda a: "new_tab() " * a.new_tab + f"goto({a.url!r})",
    web.SwitchTab: lambda a: f"tab_focus({a.tab - 1})",
    web.UserInput: lambda a: f"report_infeasible({a.message!r})",
    web.Finish: lambda a: f"send_msg_to_user({a.answer!r})",
    web.Noop: lambda a: "noop(100)",
}


class BrowserGym(Environment):
    title = "BrowserGym " + browsergym.core.__version__
    family = "web"
    places = 1
    env = None

    def splits(self) -> Splits:
        return standard_splits([Template(name, max_steps=8) for name in TASKS], held_out=[])

    def reset(self, task: Task) -> Step:
        self.close()
        browsergym.core._set_global_playwright(sync_playwright().start())
        self.env = gymnasium.make(**TASKS[task.template], slow_mo=0, disable_env_checker=True)
        return self.show(self.env.reset(seed=task.seed % 2**31)[0])

    def step(self, action: Action) -> Step:
        seen, reward, done, _, _ = self.env.step(CALLS[type(action)](action))
        if seen["last_action_error"]:
            raise InvalidAction(seen["last_action_error"])
        return self.show(seen, reward, done or isinstance(action, (web.Finish, web.UserInput)))

    def show(self, seen: dict, reward: float = 0, done: bool = False) -> Step:
        found = {}  # an element for every bid
        for node in seen["axtree_object"]["nodes"]:
            bid = node.get("browsergym_id")
            shape = seen["extra_element_properties"].get(bid)
            role, text, value = (str(node.get(key, {}).get("value", "")) for key in ("role", "name", "value"))
            if bid not in found and role not in ("", "none", "generic") and shape and shape["bbox"]:
                place = tuple(map(round, shape["bbox"])), shape["visibility"] > 0.5
                found[bid] = Element(len(found), role, text, "", value, (), role in EDITABLE, *place, id=bid)
        height, width, _ = seen["screenshot"].shape
        return Step([*found.values()], seen["goal"], done, reward > 0, float(reward), width, height)

    def close(self) -> None:
        if self.env:
            self.env.close()
            browsergym.core._get_global_playwright().stop()
            self.env = None
