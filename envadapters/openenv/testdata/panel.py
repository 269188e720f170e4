"""An environment as users of openenv write it, with the names of the profile collabui/1: a panel of switches.

usage: panel.py PLACES CAPABILITY...    It prints its address, and serves until it is killed.
"""
import random
import socket
import sys
from typing import Any, Optional

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

CAPABILITIES = sys.argv[2:]
WORDS = {
    True: ["kitchen", "garden", "attic", "cellar", "porch", "garage", "studio", "pantry"],
    False: ["library", "sauna", "workshop", "nursery", "laundry", "terrace", "office", "stable"],
}
COUNTS = {"one": 1, "three": 3, "two": 2}  # switches to switch on, by task
SPLITS = {"train": ["one", "three"], "val": ["one", "three"], "test-seeds": ["one", "three"], "test-templates": ["two"]}


class PanelAction(Action):
    action_type: str
    index: Optional[int] = None
    goal_status: Optional[str] = None


class PanelObservation(Observation):
    goal: str
    elements: list[dict[str, Any]]
    screen: dict[str, int] = {"w": 360, "h": 640}
    truncated: bool = False
    last_action_error: Optional[dict[str, str]] = None
    score: Optional[float] = None
    right: Optional[list[dict[str, Any]]] = None


class PanelState(State):
    profile: str = "collabui/1"
    suite: str = "panel"
    title: str = "A panel of openenv"
    family: str = "mobile"
    splits: list[str] = list(SPLITS)
    tasks: list[dict[str, Any]] = [
        {"name": n, "group": "switches", "split": s, "max_steps": 2 * COUNTS[n] + 2} for s in SPLITS for n in SPLITS[s]
    ]
    capabilities: list[str] = CAPABILITIES


class Panel(Environment[PanelAction, PanelObservation, PanelState]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def reset(self, seed=None, episode_id=None, task="one", split="train", max_steps=4, right=False):
        chance = random.Random(f"{task}/{split}/{seed}")
        self.names = chance.sample(WORDS[split == "train"], 6)
        self.want = set(chance.sample(range(6), COUNTS[task]))
        self.on, self.steps, self.limit, self.asked = set(), 0, max_steps, right
        self.goal = "Switch on " + " and ".join(self.names[i] for i in sorted(self.want))
        return self.observe()

    def step(self, action, timeout_s=None):
        self.steps += 1
        error, said = None, False
        if action.action_type == "click" and action.index is not None and 0 <= action.index < 6:
            self.on ^= {action.index}
        elif action.action_type == "status":
            said = True
        elif action.action_type != "wait":
            error = {"code": "INVALID_ACTION", "message": f"{action.action_type} does nothing here"}
        over = said or self.steps >= self.limit
        success = said and action.goal_status == "complete" and self.on == self.want
        return self.observe(error, done=over, truncated=over and not said, success=success)

    def observe(self, error=None, done=False, truncated=False, success=False):
        right = None
        if self.asked and not done:
            right = [{"action_type": "click", "index": i} for i in sorted(self.on ^ self.want)]
            right = right or [{"action_type": "status", "goal_status": "complete"}]
        elements = [
            {
                "i": i, "role": "switch", "text": name, "state": ["on" if i in self.on else "off"],
                "bounds": [0, 40 * i, 360, 40], "visible": True,
            }
            for i, name in enumerate(self.names)
        ]
        return PanelObservation(
            goal=self.goal, elements=elements, right=right, last_action_error=error, done=done, truncated=truncated,
            reward=float(success), score=float(success) if done else None,
        )

    @property
    def state(self):
        return PanelState(step_count=self.steps)


app = create_app(Panel, PanelAction, PanelObservation, env_name="panel", max_concurrent_envs=int(sys.argv[1]))
listener = socket.create_server(("127.0.0.1", 0))
print("ws://127.0.0.1:%d/ws" % listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
