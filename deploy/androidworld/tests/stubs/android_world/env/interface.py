"""Stub of the environment."""

import dataclasses
import time
from typing import Any

from android_world.env import adb_utils
from android_world.env import json_action
from stub_phone import Pixels, phone


@dataclasses.dataclass(frozen=True)
class State:
  pixels: Any
  forest: Any
  ui_elements: list[Any]
  auxiliaries: dict[str, Any] | None = None


class AsyncEnv:
  pass


class AsyncAndroidEnv(AsyncEnv):

  def __init__(self, controller):
    self._controller = controller
    self.interaction_cache = ''

  @property
  def controller(self):
    return self._controller

  def reset(self, go_home: bool = False) -> State:
    phone.at('reset')
    if go_home:
      adb_utils.press_home_button(self.controller)
    self.interaction_cache = ''
    return self.get_state()

  def get_state(self, wait_to_stabilize: bool = False) -> State:
    if wait_to_stabilize:
      phone.at('observe')
    return State(Pixels(len(phone.screen)), None, self.controller.get_ui_elements())

  def execute_action(self, action: json_action.JSONAction) -> None:
    self.get_state()
    phone.at('execute')
    match action.action_type:
      case 'click':
        adb_utils.tap_screen(action.x, action.y, self.controller)
      case 'input_text':
        if action.x is not None:
          adb_utils.tap_screen(action.x, action.y, self.controller)
        if action.clear_text:
          adb_utils.issue_generic_request('shell input keycombination 113 29', self.controller)
        adb_utils.type_text(action.text, self.controller)
        adb_utils.press_enter_button(self.controller)
      case 'navigate_home':
        adb_utils.press_home_button(self.controller)
      case 'open_app':
        adb_utils.launch_app(action.app_name, self.controller)
      case 'wait':
        time.sleep(0.01)
      case other:
        adb_utils.issue_generic_request(['shell', 'stub', other], self.controller)

  def hide_automation_ui(self) -> None:
    adb_utils.issue_generic_request('shell settings put system pointer_location 0', self.controller)

  @property
  def logical_screen_size(self) -> tuple[int, int]:
    return self.controller.logical_screen_size

  def close(self) -> None:
    pass
