"""Helpers of the tests: the path to the stubs, a served companion, clients."""

import asyncio
import json
import logging
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE / 'stubs'), str(HERE.parent)]

# pylint: disable=wrong-import-position
from aiohttp.test_utils import TestClient, TestServer
from collabui_companion import companion as companion_module
from collabui_companion import device
from collabui_companion import emulator
from collabui_companion.__main__ import arguments
from collabui_companion.companion import Companion
from collabui_companion.server import Server
from stub_phone import phone

logging.disable(logging.CRITICAL)
device.PAUSE_S = 0.0
emulator.POLL_S = 0.01
companion_module.DRAIN_S = 0.3
ADD, NAME, NUMBER, SAVE = (200, 50), (200, 50), (200, 150), (200, 250)  # Pixels on the stub's screens.


class Peer:
  """A client; it adds its generation as the profile specifies."""

  def __init__(self, socket):
    self.socket = socket
    self.generation = None

  async def ask(self, kind: str, **data) -> dict:
    if self.generation is not None and kind != 'reset':
      data = {'generation': self.generation, **data}
    await self.socket.send_json({'type': kind, 'data': data})
    return await self.read()

  async def read(self) -> dict:
    answer = json.loads(await self.socket.receive_str(timeout=5))
    if answer['type'] == 'observation':
      self.generation = answer['data']['observation']['info']['generation']
    return answer

  async def reset(self, task: str = 'ContactsAddContact', **data) -> dict:
    """Returns the first observation, or the data of the error."""
    return _inner(await self.ask('reset', task=task, seed=data.pop('seed', 7), **data))

  async def step(self, kind: str, **fields) -> dict:
    """Returns the data of the answer: observation, reward and done, or code and message."""
    return (await self.ask('step', action_type=kind, **fields))['data']

  async def tap(self, at: tuple[int, int]) -> dict:
    return await self.step('click', x=at[0], y=at[1])

  async def solve_contact(self) -> dict:
    """Adds the wanted contact by coordinates. Returns the data of the step that saves it."""
    words = (await self.tap((200, 50)))['observation']['goal'].removeprefix('Create a new contact for ').rstrip('.').split('. Their number is ')
    await self.tap(ADD)
    await self.step('input_text', x=NAME[0], y=NAME[1], text=words[0])
    await self.step('input_text', x=NUMBER[0], y=NUMBER[1], text=words[1])
    return await self.tap(SAVE)


def _inner(answer: dict) -> dict:
  return answer['data'].get('observation', answer['data'])


class CompanionCase(unittest.IsolatedAsyncioTestCase):
  """Serves a companion over the stub phone; `args` are further arguments of the command line."""

  args = ()

  async def asyncSetUp(self):
    phone.restore_defaults()
    self.companion = Companion(arguments(['--emulator-command', 'sleep 1000', *self.args]))
    self.client = TestClient(TestServer(Server(self.companion).application()))
    self.configure()
    await self.client.start_server()
    await self.reach(lambda: not self.companion.booting)

  def configure(self):
    """Sets the misbehaviour before the first boot."""

  async def asyncTearDown(self):
    for event in phone.events:
      event.set()
    await self.client.close()
    self.assertIsNone(self.companion.emulator.process)

  async def reach(self, condition, within_s: float = 5.0):
    deadline = time.monotonic() + within_s
    while not condition():
      self.assertLess(time.monotonic(), deadline, 'not reached in time')
      await asyncio.sleep(0.01)

  async def free(self):
    await self.reach(lambda: not self.companion.busy)

  async def torn_down(self):
    """Waits until the last episode is closed and its tear-down has returned: only then can a reset succeed."""
    await self.reach(lambda: phone.open_tasks == 0 and not self.companion.busy)

  async def peer(self) -> Peer:
    return Peer(await self.client.ws_connect('/ws'))

  async def ready(self) -> dict:
    return await (await self.client.get('/ready')).json()

  def taps(self) -> int:
    return sum(words[1:3] == ['input', 'tap'] for words in phone.log)
