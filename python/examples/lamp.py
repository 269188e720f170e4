"""A lamp as a class: the whole contract of docs/add-an-environment.md."""

from collabui_env import Action, Element, Environment, InvalidAction, Splits, Step, Task, Template
from collabui_env import mobile, standard_splits


class Lamp(Environment):
    title = "A lamp"  # the name in results
    replayable = True  # observations are a function of the task and the actions

    def splits(self) -> Splits:
        return standard_splits([Template("switch-on", max_steps=4)], held_out=[Template("switch-off", max_steps=4)])

    def reset(self, task: Task) -> Step:
        self.wanted = task.template == "switch-on"
        self.on = not self.wanted
        self.room = task.rng("room").choice(["kitchen", "attic", "garage"])
        return self.show(goal=f"Switch the lamp in the {self.room} {'on' if self.wanted else 'off'}")

    def step(self, action: Action) -> Step:
        match action:
            case mobile.Click(index=0):
                self.on = not self.on
            case mobile.Status(goal_status):
                return self.show(done=True, success=goal_status == "complete" and self.on == self.wanted)
            case mobile.Wait():
                pass
            case _:
                raise InvalidAction(f"{action.to_json()} does nothing here")
        return self.show()

    def show(self, goal: str = "", done: bool = False, success: bool = False) -> Step:
        lamp = Element(0, "switch", text=self.room, state=["on" if self.on else "off"], bounds=(0, 0, 90, 40))
        return Step([lamp], goal=goal, done=done, success=success, width=90, height=160)

    def judge(self) -> list[Action]:
        return [mobile.Click(0) if self.on != self.wanted else mobile.Status("complete")]

    def expert(self) -> Action:
        return self.judge()[0]
