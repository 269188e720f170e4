"""The lamp of lamp.py as functions."""

from dataclasses import dataclass

from collabui_env import Action, App, Element, InvalidAction, Splits, Step, Task, Template, mobile, standard_splits

app = App("lamp", title="A lamp", replayable=True)


@dataclass
class Lamp:
    wanted: bool
    on: bool

    def show(self, **more) -> Step:
        return Step([Element(0, "switch", state=["on" if self.on else "off"], bounds=(0, 0, 90, 40))], **more)


@app.splits
def splits() -> Splits:
    return standard_splits([Template("switch-on", max_steps=4)], held_out=[Template("switch-off", max_steps=4)])


@app.reset
def reset(task: Task) -> tuple[Lamp, Step]:
    wanted = task.template == "switch-on"
    lamp = Lamp(wanted, on=not wanted)
    return lamp, lamp.show(goal=f"Switch the lamp {'on' if wanted else 'off'}")


@app.step
def step(lamp: Lamp, action: Action) -> Step:
    if isinstance(action, mobile.Status):
        return lamp.show(done=True, success=lamp.on == lamp.wanted)
    if action == mobile.Click(0):
        lamp.on = not lamp.on
    elif action != mobile.Wait():
        raise InvalidAction("there is one lamp, with the index 0")
    return lamp.show()


@app.expert
def expert(lamp: Lamp) -> Action:
    return mobile.Click(0) if lamp.on != lamp.wanted else mobile.Status("complete")
