"""The phone behind the stubs: four small screens, and misbehaviour on request.

Tests set the fields of `phone`. A process reads them from the JSON file that the environment variable STUB_PHONE
names, again after every change. Screens have 400 x 800 pixels. The phone can misbehave at these points: execute,
observe, initialize, tear_down, reset, score, boot. For example:

  {"raises": {"initialize": ["no such table"]}, "hangs": {"execute": 3.5}, "missing": ["contacts"], "trees_to_lose": 1}
"""

import base64
import json
import os
import shlex
import threading
import time

WIDTH, HEIGHT = 400, 800
SNAPSHOTS = '/data/data/android_world/snapshots/'
PACKAGES = {'contacts': 'com.stub.contacts', 'settings': 'com.stub.settings', 'clipper': 'ca.zgrs.clipper', 'miniwob': 'com.google.androidenv.miniwob'}


class Phone:
  """The state of the device. `log` holds the commands that reached it, as lists of the words of adb."""

  def __init__(self):
    self.restore_defaults()

  def restore_defaults(self) -> None:
    self.contacts = []
    self.wifi = True
    self.draft = {'name': '', 'number': ''}
    self.focus = ''
    self.screen = 'home'
    self.clipboard = ''
    self.reward = ''  # The reward of MiniWoB, as the app prints it.
    self.page_reward = '1'  # The reward of the button of the MiniWoB page.
    self.ime = 'stub/.Keyboard'
    self.log = []
    self.open_tasks = 0  # Tasks initialized and not torn down.
    self.boots = 0
    self.setups = 0
    # Misbehaviour.
    self.raises = {}  # point -> list of exceptions to raise, or messages of a RuntimeError, one per visit
    self.hangs = {}  # point -> threading.Event to wait for, or seconds; once
    self.events = []  # all events that hang() returned
    self.missing = []  # apps without a snapshot
    self.trees_to_lose = 0
    self.adb_dead = False
    self.boot_s = 0.0
    self.adb_keyboard = False
    self._read = 0.0

  def read_file(self) -> None:
    path = os.environ.get('STUB_PHONE')
    if path and os.path.exists(path) and os.path.getmtime(path) != self._read:
      self._read = os.path.getmtime(path)
      with open(path, encoding='utf-8') as f:
        self.__dict__.update(json.load(f))

  def hang(self, point: str) -> threading.Event:
    """Returns the event for which the next visit of a point waits."""
    self.hangs[point] = threading.Event()
    self.events.append(self.hangs[point])
    return self.hangs[point]

  def at(self, point: str) -> None:
    self.read_file()
    if (wait := self.hangs.pop(point, None)) is not None:
      time.sleep(wait) if isinstance(wait, (int, float)) else wait.wait()
    if errors := self.raises.get(point):
      error = errors.pop(0)
      raise RuntimeError(error) if isinstance(error, str) else error

  def elements(self) -> list[dict]:
    """Returns the rows of 100 pixels, top down: {text, kind, desc, checked}."""
    rows = {
        'home': [{'text': 'Contacts', 'kind': 'Button'}, {'text': 'Settings', 'kind': 'Button'}],
        'contacts': [{'desc': 'Add contact', 'kind': 'ImageButton'}] + [{'text': f'{n} {m}', 'kind': 'TextView'} for n, m in self.contacts],
        'new': [
            {'text': self.draft['name'], 'hint': 'Name', 'kind': 'EditText'}, {'text': self.draft['number'], 'hint': 'Phone', 'kind': 'EditText'},
            {'text': 'Save', 'kind': 'Button'},
        ],
        'settings': [{'text': 'Wi-Fi', 'kind': 'Switch', 'checked': self.wifi}, {'desc': 'All settings', 'kind': 'ScrollView', 'scrollable': True}],
        'miniwob': [{'text': 'Click the button.', 'kind': 'TextView'}, {'text': 'ok', 'kind': 'Button'}],
    }
    return rows[self.screen]

  def adb(self, words: list[str]) -> bytes:
    self.read_file()
    if self.adb_dead:
      raise ConnectionError('adb: device offline')
    self.log.append(list(words))
    if words[0] != 'shell':
      return b''
    if len(words) == 2:
      words = ['shell', *words[1].split(' ')]
    match words[1:]:
      case ['echo', *rest]:
        return ' '.join(rest).encode()
      case ['input', 'tap', x, y]:
        self._tap(int(x), int(y))
      case ['input', 'text', text]:
        self._type(text)
      case ['input', 'keycombination', *_]:
        self._type(None)
      case ['input', 'keyevent', 'KEYCODE_HOME']:
        self.screen = 'home'
      case ['input', 'keyevent', 'KEYCODE_BACK']:
        pass
      case ['input', 'keyevent', 'KEYCODE_PASTE']:
        self._type(self.clipboard)
      case ['am', 'broadcast', '-a', 'clipper.set', '-e', 'text', text]:
        self.clipboard = shlex.split(text)[0]
        return b'Broadcast completed: result=-1, data="ok"'
      case ['am', 'broadcast', '-a', 'ADB_INPUT_B64', '--es', 'msg', text]:
        if self.ime.startswith('com.android.adbkeyboard'):
          self._type(base64.b64decode(text).decode())
      case ['am', 'broadcast', '-a', action] if action.endswith('GET_REWARD_ACTION'):
        return f'Broadcast completed: result=-1, data="{self.reward}"'.encode()
      case ['am', 'start', name]:
        self.screen = name if name in ('contacts', 'settings') else self.screen
      case ['pm', 'list', 'packages', name]:
        return f'package:{name}\n'.encode() if self.adb_keyboard else b''
      case ['settings', 'get', 'secure', 'default_input_method']:
        return self.ime.encode()
      case ['ime', 'set', name]:
        self.ime = name
    return b''

  def has_directory(self, path: str) -> bool:
    self.adb(['shell', f'test -d {path}'])
    return not any(path == SNAPSHOTS + PACKAGES.get(app, app) for app in self.missing)

  def _type(self, text) -> None:
    if self.focus:
      self.draft[self.focus] = '' if text is None else self.draft[self.focus] + text

  def _tap(self, x: int, y: int) -> None:
    row = y // 100
    if self.screen == 'home' and row < 2:
      self.screen = ('contacts', 'settings')[row]
    elif self.screen == 'contacts' and row == 0:
      self.screen, self.draft, self.focus = 'new', {'name': '', 'number': ''}, ''
    elif self.screen == 'new' and row < 2:
      self.focus = ('name', 'number')[row]
    elif self.screen == 'new' and row == 2:
      self.contacts.append((self.draft['name'], self.draft['number']))
      self.screen = 'contacts'
    elif self.screen == 'settings' and row == 0:
      self.wifi = not self.wifi
    elif self.screen == 'miniwob' and row == 1:
      self.reward = self.page_reward


class Pixels:
  """The part of an array that the companion needs: grey levels that depend on the screen."""

  shape = (HEIGHT, WIDTH, 3)

  def __init__(self, level: int):
    self.level = level

  def tobytes(self) -> bytes:
    return bytes([self.level]) * (HEIGHT * WIDTH * 3)


phone = Phone()
