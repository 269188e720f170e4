"""Faults: the codes of a broken device, and the tear-down of its task."""

import os
import signal
import tempfile
from unittest import mock

from support import CompanionCase, phone

from collabui_companion import companion as companion_module
from android_env.components import errors


class Faults(CompanionCase):

  async def test_a_task_that_cannot_be_set_up(self):
    peer = await self.peer()
    phone.raises['initialize'] = [RuntimeError('no such table: playing_queue ' + 'x' * 1000)]
    answer = await peer.reset()
    self.assertEqual('TASK_INIT', answer['code'])
    self.assertIn('playing_queue', answer['message'])
    self.assertLessEqual(len(answer['message']), 500)
    self.assertNotIn('Traceback', answer['message'])
    self.assertEqual(0, phone.open_tasks)
    self.assertEqual('SESSION_ERROR', (await peer.step('wait'))['code'])
    self.assertEqual('TASK_INIT', (await peer.reset('UnknownApp'))['code'])
    self.assertIn('goal', await peer.reset())
    self.assertEqual(2, (await self.ready())['failures']['TASK_INIT'])

  async def test_a_missing_snapshot_is_dirty_before_anything_starts(self):
    phone.missing = ['contacts', 'clipper', 'miniwob']
    peer = await self.peer()
    self.assertEqual('DIRTY', (await peer.reset())['code'])
    self.assertNotIn(['shell', 'date'], phone.log)
    self.assertIn('goal', await peer.reset('SystemWifiTurnOff'))
    self.assertIn('goal', await peer.reset('click-test'))

  async def test_the_second_lost_tree_in_a_row_switches_to_uiautomator(self):
    peer = await self.peer()
    phone.trees_to_lose = 1
    self.assertEqual('A11Y', (await peer.reset())['code'])
    self.assertEqual(0, phone.open_tasks)
    self.assertEqual('degraded', (await self.ready())['level'])
    self.assertEqual('a11y', (await peer.reset())['info']['elements_from'])
    self.assertEqual('ready', (await self.ready())['level'])
    phone.trees_to_lose = 1
    self.assertEqual('A11Y', (await peer.tap((200, 50)))['code'])
    phone.trees_to_lose = 1
    observation = await peer.reset('ContactsNumber')
    self.assertEqual('uiautomator', observation['info']['elements_from'])
    await peer.step('answer', text='42')
    self.assertTrue((await peer.step('status', goal_status='complete'))['observation']['success'])
    ready = await self.ready()
    self.assertEqual(('degraded', 3, 1, 2), (ready['level'], ready['failures']['a11y_lost'], ready['failures']['uiautomator'], ready['failures']['A11Y']))
    await self.client.post('/restart', json={'reason': 'test'})
    await self.free()
    self.assertEqual('ready', (await self.ready())['level'])

  async def test_a_tree_lost_before_an_action_does_not_repeat_the_action(self):
    peer = await self.peer()
    await peer.reset('SystemWifiTurnOff')
    self.companion.phone.lost = 1
    phone.trees_to_lose = 1
    taps = self.taps()
    self.assertIn('observation', await peer.tap((200, 150)))
    self.assertEqual(taps + 1, self.taps())

  async def test_a_device_that_does_not_answer(self):
    peer = await self.peer()
    for error in (errors.AdbControllerError('device offline'), ConnectionResetError('gone')):
      await peer.reset()
      phone.raises['execute'] = [error]
      self.assertEqual('ADB', (await peer.tap((200, 50)))['code'])
      self.assertEqual(0, phone.open_tasks)
    await peer.reset()
    phone.adb_dead = True
    self.assertEqual('ADB', (await peer.tap((200, 50)))['code'])
    self.assertEqual('ADB', (await peer.reset())['code'])
    phone.adb_dead = False
    await peer.reset()
    phone.raises['execute'] = [ValueError('Failed to get logical screen size.')]
    phone.raises['tear_down'] = [RuntimeError('adb')]
    self.assertEqual('EXECUTION_ERROR', (await peer.tap((200, 50)))['code'])

  async def test_what_breaks_is_torn_down(self):
    peer = await self.peer()
    for point in ('execute', 'observe', 'score'):
      with self.subTest(point=point):
        await peer.reset()
        phone.raises[point] = [KeyError('broken')]
        answer = await (peer.step('status', goal_status='complete') if point == 'score' else peer.tap((200, 50)))
        self.assertEqual('EXECUTION_ERROR', answer['code'])
        self.assertEqual(0, phone.open_tasks)
        self.assertEqual('SESSION_ERROR', (await peer.step('wait'))['code'])
    phone.raises['reset'] = [KeyError('broken')]
    self.assertEqual('EXECUTION_ERROR', (await peer.reset())['code'])
    self.assertEqual(0, phone.open_tasks)

  async def test_a_failed_tear_down_is_tried_again_by_the_next_reset(self):
    peer = await self.peer()
    await peer.reset()
    phone.raises['tear_down'] = [RuntimeError('busy')]
    self.assertIn('score', (await peer.step('status', goal_status='complete'))['observation'])
    self.assertEqual(1, phone.open_tasks)
    ready = await self.ready()
    self.assertEqual(('degraded', 1), (ready['level'], ready['failures']['TEAR_DOWN']))
    await peer.reset()
    self.assertEqual(1, phone.open_tasks)
    self.assertEqual('ready', (await self.ready())['level'])

  async def test_an_emulator_that_ended(self):
    peer = await self.peer()
    await peer.reset()
    os.kill(self.companion.emulator.process.pid, signal.SIGKILL)
    await self.reach(lambda: not self.companion.emulator.alive())
    self.assertEqual('dead', (await self.ready())['level'])
    self.assertEqual('ADB', (await peer.tap((200, 50)))['code'])
    self.assertEqual('ADB', (await peer.reset())['code'])
    self.assertEqual(202, (await self.client.post('/restart', json={'reason': 'dead'})).status)
    await self.free()
    self.assertEqual('ready', (await self.ready())['level'])
    self.assertEqual(0, phone.open_tasks)
    self.assertIn('goal', await peer.reset())


class Boots(CompanionCase):

  args = ('--setup', '--setup-marker', os.path.join(tempfile.gettempdir(), f'companion-marker-{os.getpid()}'))

  def configure(self):
    phone.raises['boot'] = [RuntimeError('no KVM')]

  async def asyncTearDown(self):
    await super().asyncTearDown()
    if os.path.exists(self.args[-1]):
      os.remove(self.args[-1])

  async def test_a_failed_boot_is_dead_until_a_restart(self):
    ready = await self.ready()
    self.assertEqual('dead', ready['level'])
    self.assertIn('no KVM', ready['detail'])
    self.assertFalse(os.path.exists(self.args[-1]))
    self.assertEqual('ADB', (await (await self.peer()).reset())['code'])
    self.assertFalse((await (await self.client.post('/probe')).json())['ok'])
    phone.boot_s = 0.3
    await self.client.post('/restart')
    ready = await self.ready()
    self.assertEqual(('busy', 'the emulator boots'), (ready['level'], ready['detail']))
    await self.free()
    self.assertTrue(os.path.exists(self.args[-1]))
    self.assertGreaterEqual((await self.ready())['boot_s'], 0.3)
    await self.client.post('/restart')
    await self.free()
    self.assertEqual((1, 2), (phone.setups, phone.boots))


class SlowBoot(CompanionCase):

  args = ('--boot-timeout', '0.2')

  def configure(self):
    phone.boot_s = 3600

  async def test_android_that_does_not_come_up(self):
    ready = await self.ready()
    self.assertEqual('dead', ready['level'])
    self.assertIn('not up', ready['detail'])


class HangingBoot(CompanionCase):

  args = ('--boot-timeout', '0.2')

  def configure(self):
    self.hang = phone.hang('boot')
    self.enterContext(mock.patch.object(companion_module, 'CONNECT_S', 0))

  async def test_a_connection_that_hangs_is_given_up(self):
    ready = await self.ready()
    self.assertEqual('dead', ready['level'])
    self.assertIn('not connected', ready['detail'])
    self.hang.set()
    await self.client.post('/restart')
    await self.free()
    self.assertEqual('ready', (await self.ready())['level'])


class ForeignEmulator(CompanionCase):

  args = ('--emulator-command', '')

  async def test_without_a_command_the_emulator_is_left_alone(self):
    self.assertIn('goal', await (await self.peer()).reset())
    await self.client.post('/restart')
    await self.free()
    self.assertEqual(('ready', 2), ((await self.ready())['level'], phone.boots))
