"""Stub of the controller: a wrapper around a raw environment with adb."""

import enum
import types

from android_world.env import representation_utils
from stub_phone import HEIGHT, WIDTH, phone


class A11yMethod(enum.Enum):
  A11Y_FORWARDER_APP = 'a11y_forwarder_app'
  UIAUTOMATOR = 'uiautomator'
  NONE = 'none'


class RawEnv:

  def execute_adb_call(self, call: list[str]):
    return types.SimpleNamespace(status=1, generic=types.SimpleNamespace(output=phone.adb(call)))


class AndroidWorldController:

  def __init__(self, env, a11y_method: A11yMethod = A11yMethod.A11Y_FORWARDER_APP, install_a11y_forwarding_app: bool = True):
    del install_a11y_forwarding_app
    self._env, self._method = env, a11y_method

  @property
  def env(self):
    return self._env

  def execute_adb_call(self, call: list[str]):
    return self._env.execute_adb_call(call)

  def get_ui_elements(self) -> list[representation_utils.UIElement]:
    if self._method is A11yMethod.A11Y_FORWARDER_APP and phone.trees_to_lose:
      phone.trees_to_lose -= 1
      raise RuntimeError('Could not get a11y tree.')
    return [_element(i, row) for i, row in enumerate(phone.elements())]

  @property
  def logical_screen_size(self) -> tuple[int, int]:
    return WIDTH, HEIGHT


def _element(i: int, row: dict) -> representation_utils.UIElement:
  return representation_utils.UIElement(
      text=row.get('text') or None, content_description=row.get('desc'), hint_text=row.get('hint'), class_name=f'android.widget.{row["kind"]}',
      bbox_pixels=representation_utils.BoundingBox(0, WIDTH, 100 * i, 100 * i + 100), is_checkable='checked' in row, is_checked=row.get('checked', False),
      is_clickable=True, is_editable=row['kind'] == 'EditText', is_enabled=True, is_scrollable=row.get('scrollable', False), is_visible=True,
      resource_name=f'com.stub:id/{i}')
