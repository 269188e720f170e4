"""A connection to a running emulator, through android_world: screen, actions, checks. Every call blocks."""

import base64
import logging
import shlex
import time
import xml.etree.ElementTree as ET

from android_env.components import errors
from android_world.env import adb_utils
from android_world.env import android_world_controller
from android_world.env import device_constants
from android_world.env import interface
from android_world.env import json_action
from android_world.utils import file_utils

from collabui_companion import elements
from collabui_companion.problems import Problem, as_problem

PAUSE_S = 1.0  # The pause after a tap that moves the focus, as upstream.
KEYBOARD = 'com.android.adbkeyboard/.AdbIME'
CLEAR = 'input keycombination 113 29 && input keyevent 67'  # Ctrl-A, Delete.


class Phone:
  """A connected emulator. After `fence` every use of it raises ADB, in every thread."""

  def __init__(self, env: interface.AsyncEnv, counts):
    self.env = env
    self.counts = counts  # Counts of a11y_lost and uiautomator.
    self.fenced = False
    self.clean = True  # Whether the last tear-down succeeded.
    self.source = 'a11y'  # The source of the elements: a11y or uiautomator.
    self.lost = 0  # Trees lost in a row.
    self.size = (0, 0)  # Width and height of the observed screen, in pixels.
    self.elements = []  # The observed elements.
    self.pixels = None  # The picture of the same observation.

  def fence(self) -> None:
    """Cuts off this connection, also for a call that hangs in it now and returns later."""
    self.fenced = True

    def refuse(*_, **__):
      raise errors.AdbControllerError('the emulator of this connection was restarted')

    controller = self.env.controller
    for link in (controller, controller.env, getattr(controller, 'raw_env', controller)):
      link.execute_adb_call = refuse
    controller.refresh_env = refuse  # Upstream's reconnection after a lost tree.

  def close(self) -> None:
    try:
      self.env.close()
    except Exception:  # pylint: disable=broad-exception-caught
      logging.exception('closing the old connection')

  def blame(self, error: BaseException, otherwise: str) -> Problem:
    """Returns the problem: ADB if the device does not answer, A11Y if the tree is lost, `otherwise` in other cases."""
    if isinstance(error, Problem):
      return error
    logging.error('%s', error, exc_info=error)
    grpc = type(error).__module__.startswith('grpc')
    unreachable = grpc or isinstance(error, (errors.AndroidEnvError, ConnectionError))
    if self.fenced or (unreachable and not _lost_tree(error)):
      return as_problem(error, 'ADB')
    if _lost_tree(error):
      return as_problem(error, 'A11Y')
    return as_problem(error, otherwise if self.answers() else 'ADB')

  def answers(self) -> bool:
    """Reports whether the device answers adb."""
    try:
      return b'alive' in self._adb('shell', 'echo', 'alive')
    except Exception:  # pylint: disable=broad-exception-caught
      return False

  def go(self, home: bool) -> None:
    """Resets the environment, which clears the interaction cache. With home set, presses the home key first."""
    self._seeing(lambda: self.env.reset(go_home=home))

  def observe(self) -> None:
    """Waits until the screen is still (1 to 6 s) and keeps its elements, size and pixels."""
    state = self._seeing(lambda: self.env.get_state(wait_to_stabilize=True))
    self.size = tuple(int(v) for v in self.env.logical_screen_size)
    self.elements = elements.profile_elements(state.ui_elements, self.size)
    self.pixels = state.pixels

  def probe(self) -> None:
    """Checks the device: home screen and one observation."""
    try:
      self.go(home=True)
      self.observe()
    except Exception as e:
      raise self.blame(e, 'EXECUTION_ERROR') from e

  def screenshot(self) -> bytes:
    """Returns the picture of the last observation as PNG."""
    if self.pixels is None:
      raise Problem('SESSION_ERROR', 'nothing was observed yet')
    return elements.png(self.pixels)

  def execute(self, fields: dict) -> None:
    """Executes the fields that actions.parse returned.

    An answer is kept for the score and not shown on the screen. An answer and a status do not touch the device.
    """
    kind = fields['action_type']
    if kind == 'status':
      return
    if kind == 'answer':
      self.env.interaction_cache = fields['text']
    elif 'area' in fields:
      self._scroll(fields['direction'], fields['area'])
    elif kind == 'input_text' and not fields['text'].isascii():
      self._paste(fields)
    else:
      action = json_action.JSONAction(**fields)
      # Upstream loses a tree only before it acts, so this may be repeated.
      self._seeing(lambda: self.env.execute_action(action))

  def assert_snapshots(self, apps) -> None:
    """Raises DIRTY if the saved state of an app is missing.

    Upstream only warns, and starts the task in the state that the last task left.
    """
    for app in apps:
      if not app or app == 'clipper':  # Upstream does not save their state.
        continue
      activity = adb_utils.get_adb_activity(app)
      if activity is None:
        raise Problem('TASK_INIT', f'android_world knows no activity of the app {app!r}')
      path = f'{device_constants.SNAPSHOT_DATA}/{adb_utils.extract_package_name(activity)}'
      if not file_utils.check_directory_exists(path, self.env.controller):
        raise Problem('DIRTY', f'no snapshot of the app {app!r} at {path}: run the setup')

  def miniwob_reward(self, app: str) -> float:
    """Returns the raw reward of MiniWoB's page, -1 to 1; 0 while the episode runs.

    It also reads fractions, on which upstream's own reader fails.
    """
    for _ in range(3):
      response = adb_utils.send_android_intent('broadcast', f'{app}.app.GET_REWARD_ACTION', self.env.controller.env)
      reward = adb_utils.extract_broadcast_data(response.generic.output.decode('utf-8'))
      if reward is not None:
        return float(reward or 0)
      time.sleep(PAUSE_S)
    raise RuntimeError('the MiniWoB app does not report its reward')

  def _adb(self, *args: str) -> bytes:
    return adb_utils.issue_generic_request(list(args), self.env.controller).generic.output

  def _seeing(self, look):
    """Returns look(), which needs the accessibility tree.

    The second tree lost in a row switches to uiautomator until the next restart.
    """
    try:
      result = look()
    except Exception as e:
      if not _lost_tree(e):
        raise
      self.lost += 1
      self.counts['a11y_lost'] += 1
      if self.lost < 2 or self.source == 'uiautomator' or self.fenced:
        raise
      self._use_uiautomator()
      result = look()
    self.lost = 0
    return result

  def _use_uiautomator(self) -> None:
    logging.warning('the accessibility tree was lost twice in a row: elements come from uiautomator now')
    self.counts['uiautomator'] += 1
    self.source = 'uiautomator'
    cache = self.env.interaction_cache
    controller = android_world_controller.AndroidWorldController(
        self.env.controller.env, a11y_method=android_world_controller.A11yMethod.UIAUTOMATOR)
    self.env = interface.AsyncAndroidEnv(controller)
    self.env.interaction_cache = cache

  def _scroll(self, direction: str, area: list[int]) -> None:
    """Swipes from the middle of an area, cut to the screen, to the edge opposite to the direction, as upstream."""
    left, top = max(area[0], 0), max(area[1], 0)
    right, bottom = min(area[0] + area[2], self.size[0]), min(area[1] + area[3], self.size[1])
    x, y = (left + right) // 2, (top + bottom) // 2
    to = {'down': (x, top), 'up': (x, bottom), 'right': (left, y), 'left': (right, y)}[direction]
    adb_utils.issue_generic_request(adb_utils.generate_swipe_command(x, y, *to), self.env.controller)

  def _paste(self, fields: dict) -> None:
    """Types text outside ASCII, which `adb input text` cannot, and presses Enter.

    It uses ADBKeyBoard if that is installed, and clipper's clipboard otherwise.
    """
    controller = self.env.controller
    packages = self._adb('shell', 'pm', 'list', 'packages', 'com.android.adbkeyboard')
    keyboard = KEYBOARD.split('/', maxsplit=1)[0].encode() in packages
    if not keyboard:
      self._set_clipboard(fields['text'])  # First, because clipper comes to the foreground.
    if 'x' in fields:
      adb_utils.tap_screen(fields['x'], fields['y'], controller)
      time.sleep(PAUSE_S)
    if fields['clear_text']:
      self._adb('shell', CLEAR)
      time.sleep(PAUSE_S)
    if keyboard:
      before = self._adb('shell', 'settings', 'get', 'secure', 'default_input_method').decode().strip()
      self._adb('shell', 'ime', 'enable', KEYBOARD)
      self._adb('shell', 'ime', 'set', KEYBOARD)
      time.sleep(PAUSE_S)
      encoded = base64.b64encode(fields['text'].encode()).decode()
      self._adb('shell', 'am', 'broadcast', '-a', 'ADB_INPUT_B64', '--es', 'msg', encoded)
      self._adb('shell', 'ime', 'set', shlex.quote(before))
    else:
      self._adb('shell', 'input', 'keyevent', 'KEYCODE_PASTE')
    adb_utils.press_enter_button(controller)

  def _set_clipboard(self, text: str) -> None:
    """Sets clipper's clipboard. Upstream's set_clipboard_contents drops text that is not ASCII."""
    adb_utils.launch_app('clipper', self.env.controller)
    time.sleep(PAUSE_S / 2)
    output = self._adb('shell', 'am', 'broadcast', '-a', 'clipper.set', '-e', 'text', shlex.quote(text))
    if adb_utils.extract_broadcast_data(output.decode('utf-8')) is None:
      raise RuntimeError('clipper did not take the text: it was not set up on this emulator')
    adb_utils.press_back_button(self.env.controller)


def _lost_tree(error: BaseException) -> bool:
  return 'a11y tree' in str(error).lower() or isinstance(error, ET.ParseError)
