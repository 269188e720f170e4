"""Frames, HTTP and the command line."""

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import support
from support import CompanionCase, phone

import aiohttp
from collabui_companion import server


class Frames(CompanionCase):

  async def test_state_lists_the_suite_without_an_episode(self):
    peer = await self.peer()
    state = (await peer.ask('state'))['data']
    self.assertEqual(('collabui/1', 'androidworld', 'mobile'), (state['profile'], state['suite'], state['family']))
    self.assertEqual(['screenshot'], state['capabilities'])
    by_name = {t['name']: t for t in state['tasks']}
    self.assertEqual({'android_world', 'information_retrieval', 'miniwob'}, {t['group'] for t in state['tasks']})
    steps = {'ContactsAddContact': 12, 'ContactsNumber': 14, 'click-test': 30, 'TurnOffWifiAndAddContact': 20}
    self.assertEqual(steps, {name: by_name[name]['max_steps'] for name in steps})
    self.assertLessEqual({t['split'] for t in state['tasks']}, set(state['splits']))

  async def test_frames_at_fault_are_named_and_the_session_goes_on(self):
    cases = {
        'INVALID_JSON': ['{', '', '[' * 100_000, '{"type": "reset", "data": {"seed": ' + '9' * 5000 + '}}'],
        'UNKNOWN_TYPE': ['{}', '{"type": "mcp"}', '{"type": "__class__"}', '{"type": ["reset"]}'],
        'VALIDATION_ERROR': ['[]', '7', '{"type": "state", "data": []}', '{"type": "state", "more": 1}', '{"type": "state", "data": {"image": "jpeg"}}',
                             '{"type": "state", "data": {"right": true}}', '{"type": "state", "data": {"generation": "1"}}'],
    }
    reset = {'task': 'ContactsAddContact'}
    wrong = (
        {'task': 7}, {'split': 7}, {'seed': -1}, {'seed': 2**64}, {'seed': 1.5}, {'seed': True}, {'max_steps': 0}, {'ttl_s': 0}, {'ttl_s': 'long'},
        {'extra': 1},
    )
    cases['VALIDATION_ERROR'] += [json.dumps({'type': 'reset', 'data': {**reset, **w}}) for w in wrong]
    peer = await self.peer()
    for code, frames in cases.items():
      for frame in frames:
        with self.subTest(frame=frame[:60]):
          await peer.socket.send_str(frame)
          answer = await peer.read()
          self.assertEqual(('error', code), (answer['type'], answer['data']['code']))
          self.assertLessEqual(len(answer['data']['message']), 500)
    self.assertEqual(0, (await self.ready())['generation'])
    self.assertIn('goal', await peer.reset())

  async def test_pages_of_web_browsers_are_refused(self):
    for status, headers in (
        (200, {}), (200, {'Host': 'localhost:8000'}), (200, {'Host': '[::1]:8000'}), (421, {'Host': 'evil.example'}),
        (421, {'Host': '127.0.0.1.evil.example:80'}), (403, {'Origin': 'http://evil.example'}),
        (403, {'Sec-Fetch-Site': 'cross-site'}),
    ):
      with self.subTest(headers=headers):
        for path in ('/ready', '/ws') if status != 200 else ('/ready',):
          self.assertEqual(status, (await self.client.get(path, headers=headers)).status)

  async def test_a_key_is_asked_of_every_request_but_the_health_check(self):
    app = server.Server(self.companion, lambda: ['next', 'secret']).application()
    app.on_startup.clear()
    app.on_cleanup.clear()
    async with support.TestClient(support.TestServer(app)) as client:
      for path, headers, status in (
          ('/health', {}, 200), ('/ready', {}, 401), ('/ready', {'Authorization': 'Bearer wrong'}, 401),
          ('/ready', {'Authorization': 'Bearer next'}, 200),
          ('/ready', {'Authorization': 'Bearer secret', 'Host': 'emulators.example'}, 200), ('/ws', {}, 401),
      ):
        with self.subTest(path=path, headers=headers):
          self.assertEqual(status, (await client.get(path, headers=headers)).status)

  async def test_a_huge_frame_ends_its_connection_only(self):
    peer, other = await self.peer(), await self.peer()
    await peer.socket.send_str('"' + 'x' * server.FRAME_LIMIT + '"')
    message = await peer.socket.receive(timeout=5)
    self.assertEqual((aiohttp.WSMsgType.CLOSE, 1009), (message.type, message.data))
    self.assertIn('goal', await other.reset())

  async def test_an_unknown_task_takes_no_lease(self):
    peer = await self.peer()
    await peer.reset()
    other = await self.peer()
    self.assertEqual('UNKNOWN_TASK', (await other.reset('NoSuchTask'))['code'])
    self.assertIn('observation', await peer.tap((200, 50)))

  async def test_a_step_before_a_reset_is_a_session_error(self):
    peer = await self.peer()
    self.assertEqual('SESSION_ERROR', (await peer.step('wait'))['code'])
    self.assertEqual('SESSION_ERROR', (await peer.ask('state', image='png'))['data']['code'])

  async def test_too_many_connections(self):
    peers = [await self.peer() for _ in range(server.SESSION_LIMIT)]
    late = await self.peer()
    self.assertEqual('CAPACITY_REACHED', (await late.read())['data']['code'])
    self.assertEqual(aiohttp.WSMsgType.CLOSE, (await late.socket.receive(timeout=5)).type)
    await peers[0].socket.close()
    await asyncio.sleep(0.05)
    self.assertIn('goal', await (await self.peer()).reset())

  async def test_a_flood_of_frames_ends_its_connection(self):
    phone.hang('initialize')
    peer = await self.peer()
    for _ in range(3 * server.WAITING_LIMIT):
      await peer.socket.send_json({'type': 'reset', 'data': {'task': 'ContactsAddContact'}})
    self.assertEqual(aiohttp.WSMsgType.CLOSE, (await peer.socket.receive(timeout=5)).type)

  async def test_http(self):
    self.assertEqual({'status': 'healthy'}, await (await self.client.get('/health')).json())
    self.assertEqual('collabui/1', (await (await self.client.get('/metadata')).json())['profile'])
    self.assertEqual({'action', 'observation', 'state'}, set(await (await self.client.get('/schema')).json()))
    self.assertEqual(400, (await self.client.post('/restart', data='[')).status)
    ready = await self.ready()
    self.assertEqual({'level', 'detail', 'generation', 'leased', 'busy_s', 'episodes', 'restarts', 'failures', 'rss_mb', 'boot_s'}, set(ready))
    self.assertEqual('ready', ready['level'])
    self.assertGreater(ready['rss_mb'], 5)


class Program(unittest.IsolatedAsyncioTestCase):

  def environment(self) -> dict:
    return {**os.environ, 'PYTHONPATH': f'{support.HERE / "stubs"}{os.pathsep}{support.HERE.parent}'}

  def test_tasks_are_printed(self):
    out = subprocess.run([sys.executable, '-m', 'collabui_companion', 'tasks'], env=self.environment(), check=True, capture_output=True).stdout
    tasks = {t['name']: t for t in json.loads(out)}
    self.assertEqual(
        {'name': 'ContactsNumber', 'group': 'information_retrieval', 'max_steps': 14, 'start_on_home_screen': True, 'apps': ['contacts'],
         'template': 'What is the answer to {question}?'}, tasks['ContactsNumber'])
    self.assertEqual((False, 30), (tasks['click-test']['start_on_home_screen'], tasks['click-test']['max_steps']))

  async def test_the_program_plays_an_episode_and_ends_its_emulator(self):
    process = await asyncio.create_subprocess_exec(
        sys.executable, '-m', 'collabui_companion', '--port', '0', '--emulator-command', 'sleep 1000', env=self.environment(),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
      line = (await asyncio.wait_for(process.stdout.readline(), 10)).decode().split()
      self.assertEqual(['listening', 'on'], line[:2])
      async with aiohttp.ClientSession(f'http://{line[2]}') as session:
        for _ in range(200):
          if (await (await session.get('/ready')).json())['level'] == 'ready':
            break
          await asyncio.sleep(0.02)
        async with session.ws_connect('/ws') as socket:
          peer = support.Peer(socket)
          await peer.reset()
          await peer.solve_contact()
          self.assertTrue((await peer.step('status', goal_status='complete'))['observation']['success'])
      children = [pid for path in pathlib.Path(f'/proc/{process.pid}/task').glob('*/children') for pid in path.read_text().split()]
      self.assertEqual(1, len(children))
    finally:
      process.send_signal(signal.SIGTERM)
      await asyncio.wait_for(process.communicate(), 10)
    self.assertFalse(os.path.exists(f'/proc/{children[0]}'))


if __name__ == '__main__':
  unittest.main()
