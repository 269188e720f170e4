"""Leases: the right to use the device, and the time after the end of a lease."""

import asyncio
import threading
import time
from unittest import mock

import aiohttp

from support import CompanionCase, phone

from collabui_companion import companion as companion_module


class Leases(CompanionCase):

  async def test_generations_rise_and_older_ones_are_stale(self):
    one, two = await self.peer(), await self.peer()
    self.assertEqual(1, (await one.reset(ttl_s=0.3))['info']['generation'])
    self.assertEqual('CAPACITY_REACHED', (await two.reset())['code'], 'a lease that holds is not taken over')
    self.assertTrue((await self.ready())['leased'])
    self.assertIn('observation', await one.tap((200, 50)))
    await self.torn_down()
    self.assertFalse((await self.ready())['leased'])
    self.assertEqual(2, (await two.reset())['info']['generation'])
    self.assertEqual(1, phone.open_tasks, 'the episode before is torn down')
    taps = self.taps()
    for answer in (await one.tap((200, 50)), (await one.ask('state', image='png'))['data'], (await one.ask('close'))['data']):
      self.assertEqual('STALE_LEASE', answer['code'])
    self.assertEqual(taps, self.taps())
    self.assertIn('observation', await two.tap((200, 50)))
    self.assertEqual(3, (await two.reset())['info']['generation'], 'its own lease is renewed')

  async def test_a_frame_of_another_generation_is_stale(self):
    peer = await self.peer()
    await peer.reset()
    self.assertEqual('STALE_LEASE', (await peer.step('wait', generation=7))['code'])
    self.assertEqual('VALIDATION_ERROR', (await peer.step('wait', generation='1'))['code'])
    peer.generation = None
    self.assertIn('observation', await peer.step('wait'))

  async def test_a_lost_connection_tears_down(self):
    peer = await self.peer()
    await peer.reset()
    await peer.socket.close()
    await self.torn_down()

  async def test_close_tears_down_before_the_socket_closes(self):
    peer = await self.peer()
    await peer.reset()
    await peer.socket.send_json({'type': 'close', 'data': {'generation': peer.generation}})
    self.assertEqual(aiohttp.WSMsgType.CLOSE, (await peer.socket.receive(timeout=5)).type)
    self.assertEqual(0, phone.open_tasks)
    self.assertIn('goal', await (await self.peer()).reset())

  async def test_a_lease_ends_without_frames(self):
    peer = await self.peer()
    await peer.reset(ttl_s=0.2)
    await self.torn_down()
    self.assertEqual('STALE_LEASE', (await peer.tap((200, 50)))['code'])
    self.assertIn('goal', await peer.reset())

  async def test_every_frame_keeps_the_lease(self):
    peer = await self.peer()
    await peer.reset(ttl_s=0.8)
    for _ in range(12):
      await asyncio.sleep(0.1)
      await peer.ask('state')
    self.assertIn('observation', await peer.step('wait'))

  async def test_a_call_that_runs_does_not_use_up_the_time(self):
    peer = await self.peer()
    await peer.reset(ttl_s=0.3)
    hang = phone.hang('execute')
    step = asyncio.create_task(peer.tap((200, 50)))
    await asyncio.sleep(0.9)
    hang.set()
    self.assertIn('observation', await step)

  async def test_busy_is_not_dead(self):
    one, two = await self.peer(), await self.peer()
    await one.reset()
    hang = phone.hang('execute')
    await one.socket.send_json({'type': 'step', 'data': {'action_type': 'click', 'x': 200, 'y': 50, 'generation': 1}})
    await self.reach(lambda: self.companion.worker.running)
    answer = await two.reset()
    self.assertEqual('BUSY', answer['code'])
    self.assertGreater(answer['retry_after_s'], 0)
    self.assertEqual('healthy', (await (await self.client.get('/health')).json())['status'])
    ready = await self.ready()
    self.assertEqual(('busy', 1), (ready['level'], ready['generation']))
    self.assertGreater((await self.ready())['busy_s'], 0)
    self.assertEqual(409, (await self.client.post('/probe')).status)
    await one.socket.close()  # The client gave up, but its call still runs.
    await asyncio.sleep(0.1)
    self.assertEqual('BUSY', (await two.reset())['code'])
    hang.set()
    await self.free()
    self.assertEqual(0, phone.open_tasks)
    self.assertEqual((2, 0), ((await two.reset())['info']['generation'], (await self.ready())['restarts']))

  async def test_a_queued_call_of_an_ended_lease_never_executes(self):
    for end in ('connection', 'time'):
      with self.subTest(end=end):
        peer = await self.peer()
        await peer.reset(ttl_s=60 if end == 'connection' else 0.2)
        release = threading.Event()
        blocker = self.companion.worker.submit(release.wait)
        phone.log.clear()
        await peer.socket.send_json({'type': 'step', 'data': {'action_type': 'click', 'x': 200, 'y': 50}})
        await self.reach(lambda: len(self.companion.worker.calls) == 2)
        if end == 'connection':
          await peer.socket.close()
        await self.reach(lambda: self.companion.lease is None)
        release.set()
        await blocker
        if end == 'time':
          self.assertEqual('STALE_LEASE', (await peer.read())['data']['code'])
        await self.free()
        self.assertEqual((0, 0), (self.taps(), phone.open_tasks))

  async def test_a_late_answer_of_an_ended_lease_is_refused(self):
    peer = await self.peer()
    await peer.reset()
    hang = phone.hang('execute')
    step = asyncio.create_task(peer.tap((200, 50)))
    await self.reach(lambda: self.companion.worker.running)
    self.companion.end(self.companion.lease)
    hang.set()
    self.assertEqual('STALE_LEASE', (await step)['code'])
    await self.free()
    self.assertEqual(0, phone.open_tasks)

  async def test_a_reset_whose_client_is_gone_leaves_nothing_behind(self):
    two = await self.peer()
    hang = phone.hang('initialize')
    await two.socket.send_json({'type': 'reset', 'data': {'task': 'ContactsAddContact'}})
    await self.reach(lambda: self.companion.worker.running)
    await two.socket.close()
    await self.reach(lambda: self.companion.lease is None)
    hang.set()
    await self.free()
    self.assertEqual(0, phone.open_tasks)

  async def test_restart_voids_the_lease_and_tears_down(self):
    peer = await self.peer()
    await peer.reset()
    process = self.companion.emulator.process
    phone.boot_s = 0.2
    answers = [await self.client.post('/restart', json={'reason': 'drill'}) for _ in range(2)]
    self.assertEqual([(202, 'restarting'), (202, 'under way')], [(a.status, (await a.json())['status']) for a in answers])
    self.assertEqual('busy', (await self.ready())['level'])
    busy = await (await self.peer()).reset()
    self.assertEqual(('BUSY', 10), (busy['code'], busy['retry_after_s']))
    self.assertEqual('STALE_LEASE', (await peer.tap((200, 50)))['code'])
    await self.free()
    self.assertIsNotNone(process.returncode)
    self.assertEqual((2, 0), (phone.boots, phone.open_tasks))
    self.assertEqual((3, 1), ((await peer.reset())['info']['generation'], (await self.ready())['restarts']))

  async def test_a_restart_for_an_older_lease_is_refused(self):
    seen = (await self.ready())['generation']
    peer = await self.peer()
    await peer.reset()
    late = await self.client.post(f'/restart?seen={seen}')
    self.assertEqual((409, 'leased'), (late.status, (await late.json())['status']))
    self.assertNotIn('code', await peer.tap((200, 50)))
    self.assertEqual(202, (await self.client.post(f'/restart?seen={seen + 1}')).status)
    await self.free()

  async def test_a_restart_answers_the_call_that_ran(self):
    peer = await self.peer()
    await peer.reset()
    hang = phone.hang('execute')
    step = asyncio.create_task(peer.tap((200, 50)))
    await self.reach(lambda: self.companion.worker.running)
    await self.client.post('/restart')
    await asyncio.sleep(0.05)
    taps = self.taps()
    hang.set()
    self.assertEqual('ADB', (await step)['code'])
    await self.free()
    self.assertEqual((taps, 0), (self.taps(), phone.open_tasks))

  async def test_probe(self):
    peer = await self.peer()
    answer = await (await self.client.post('/probe')).json()
    self.assertEqual((True, ''), (answer['ok'], answer['detail']))
    await peer.reset()
    self.assertEqual(409, (await self.client.post('/probe')).status, 'an episode is under way')
    await peer.step('status', goal_status='complete')
    phone.raises['observe'] = [ConnectionError('device offline')]
    answer = await (await self.client.post('/probe')).json()
    self.assertFalse(answer['ok'])
    self.assertIn('ADB', answer['detail'])
    hang = phone.hang('observe')
    with mock.patch.object(companion_module, 'PROBE_S', 0.1):
      answer = await (await self.client.post('/probe')).json()
    self.assertEqual((False, 'busy'), (answer['ok'], (await self.ready())['level']))
    hang.set()


class Hangs(CompanionCase):

  args = ('--hang-limit', '0.3')

  async def test_a_hanging_call_restarts_the_emulator_and_never_comes_back(self):
    for point in ('execute', 'initialize', 'tear_down', 'observe'):
      with self.subTest(point=point):
        phone.restore_defaults()
        peer = await self.peer()
        if point != 'initialize':
          await peer.reset()
        hang = phone.hang(point)
        calls = {'initialize': peer.reset, 'tear_down': lambda: peer.step('status', goal_status='complete')}
        restarts = self.companion.restarts
        answer = await calls.get(point, lambda: peer.tap((200, 50)))()
        self.assertEqual('ADB', answer['code'])
        await self.free()
        self.assertEqual(('ready', restarts + 1), ((await self.ready())['level'], self.companion.restarts))
        self.assertEqual(0, phone.open_tasks, 'torn down on the new emulator')
        other = await self.peer()
        self.assertIn('goal', await other.reset())
        log = len(phone.log)
        hang.set()  # The old call continues, on a connection that is cut.
        await asyncio.sleep(0.1)
        self.assertEqual((log, 1), (len(phone.log), phone.open_tasks))
        self.assertEqual('STALE_LEASE', (await peer.tap((200, 50)))['code'])
        await peer.socket.close()
        await other.socket.close()
        await self.torn_down()

  async def test_a_newcomer_waits_for_the_restart(self):
    one, two = await self.peer(), await self.peer()
    await one.reset()
    hang = phone.hang('execute')
    await one.socket.send_json({'type': 'step', 'data': {'action_type': 'click', 'x': 200, 'y': 50}})
    await self.reach(lambda: self.companion.worker.running)
    await one.socket.close()
    codes = set()
    deadline = time.monotonic() + 5
    while 'code' in (answer := await two.reset()):
      codes.add(answer['code'])
      self.assertLess(time.monotonic(), deadline)
      await asyncio.sleep(0.02)
    hang.set()
    self.assertEqual({'BUSY'}, codes)
    self.assertEqual(1, phone.open_tasks)
    self.assertEqual(1, (await self.ready())['failures']['HANG'])
