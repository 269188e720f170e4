"""Tests of episodes, from reset to score."""

import base64
import hashlib
import json
import struct
import zlib

from support import CompanionCase, phone

from collabui_companion import elements
from stub_phone import HEIGHT, WIDTH


class Episodes(CompanionCase):

  async def test_solved_and_said_so(self):
    peer = await self.peer()
    first = await peer.ask('reset', task='ContactsAddContact', split='train', seed=7, ttl_s=60, episode_id='e1')
    observation = first['data']['observation']
    self.assertEqual((None, False), (first['data']['reward'], first['data']['done']))
    self.assertEqual({'w': WIDTH, 'h': HEIGHT}, observation['screen'])
    self.assertEqual((12, False, None), (observation['max_steps'], observation['truncated'], observation['last_action_error']))
    self.assertNotIn('score', observation)
    saved = await peer.solve_contact()
    self.assertEqual((0.0, False), (saved['reward'], saved['done']))
    end = await peer.step('status', goal_status='complete')
    self.assertEqual((1.0, True, 1.0, True), (end['reward'], end['done'], end['observation']['score'], end['observation']['success']))
    self.assertEqual((1.0, 6), (end['observation']['info']['raw'], end['observation']['info']['step']))
    self.assertEqual(0, phone.open_tasks)
    self.assertEqual('SESSION_ERROR', (await peer.step('wait'))['code'])

  async def test_elements(self):
    peer = await self.peer()
    home = await peer.reset('SystemWifiTurnOff')
    self.assertEqual({'i': 0, 'id': 'com.stub:id/0', 'role': 'button', 'text': 'Contacts', 'bounds': [0, 0, 400, 100], 'visible': True}, home['elements'][0])
    settings = (await peer.tap((200, 150)))['observation']['elements']
    self.assertEqual(('switch', ['on'], ['scrollable'], 'All settings'), (settings[0]['role'], settings[0]['state'], settings[1]['state'], settings[1]['desc']))
    await peer.reset()
    await peer.tap((200, 50))
    fields = (await peer.tap((200, 50)))['observation']['elements']
    self.assertEqual(('field', True, 'Name'), (fields[0]['role'], fields[0]['editable'], fields[0]['desc']))
    await peer.step('input_text', x=200, y=50, text='Ann')
    typed = await peer.step('input_text', x=200, y=50, text='Bob', clear_text=True)
    self.assertEqual('Bob', typed['observation']['elements'][0]['value'])

  def test_an_element_without_a_place_is_not_visible(self):
    made = elements.profile_elements([_Element(None), _Element((500, 600, 0, 10)), _Element((-5, 5, 0, 10))], (WIDTH, HEIGHT))
    self.assertEqual([False, False, True], [e['visible'] for e in made])
    self.assertEqual([0, 1, 2], [e['i'] for e in made])

  async def test_the_right_state_without_a_status_is_truncated(self):
    peer = await self.peer()
    await peer.reset(max_steps=5)
    end = await peer.solve_contact()
    observation = end['observation']
    self.assertEqual((True, True, 0.0, False), (end['done'], observation['truncated'], observation['score'], observation['success']))
    self.assertEqual(1.0, observation['info']['raw'])
    self.assertEqual(0, phone.open_tasks)

  async def test_a_status_in_the_last_step_is_not_truncated(self):
    peer = await self.peer()
    await peer.reset(max_steps=6)
    await peer.solve_contact()
    end = (await peer.step('status', goal_status='complete'))['observation']
    self.assertEqual((False, True), (end['truncated'], end['success']))

  async def test_any_status_ends_and_the_state_decides(self):
    peer = await self.peer()
    for goal_status, solve in (('complete', False), ('infeasible', False), ('infeasible', True)):
      with self.subTest(goal_status=goal_status, solve=solve):
        await peer.reset()
        if solve:
          await peer.solve_contact()
        end = await peer.step('status', goal_status=goal_status)
        self.assertEqual((True, solve, float(solve)), (end['done'], end['observation']['success'], end['observation']['score']))

  async def test_half_of_a_composite_task_is_no_success(self):
    peer = await self.peer()
    await peer.reset('TurnOffWifiAndAddContact')
    await peer.tap((200, 150))
    await peer.tap((200, 50))
    end = (await peer.step('status', goal_status='complete'))['observation']
    self.assertEqual((0.5, False, 0.5), (end['score'], end['success'], end['info']['raw']))

  async def test_tasks_start_at_home_and_miniwob_never(self):
    peer = await self.peer()
    self.assertEqual('Contacts', (await peer.reset())['elements'][0]['text'])
    phone.log.clear()
    page = await peer.reset('click-test')
    self.assertEqual('ok', page['elements'][1]['text'])
    self.assertEqual((30, 'Follow the instructions shown on the top of the screen: Click the button.'), (page['max_steps'], page['goal']))
    self.assertNotIn(['shell', 'input', 'keyevent', 'KEYCODE_HOME'], phone.log)

  async def test_an_answer_is_kept_until_the_score(self):
    peer = await self.peer()
    await peer.reset('ContactsNumber')
    answered = await peer.step('answer', text='42')
    self.assertFalse(answered['done'])
    await peer.step('wait')
    await peer.ask('state', image='png')
    end = (await peer.step('status', goal_status='complete'))['observation']
    self.assertEqual((1.0, True), (end['score'], end['success']))
    await peer.reset('ContactsNumber')
    self.assertFalse((await peer.step('status', goal_status='complete'))['observation']['success'], 'the answer before is forgotten')

  async def test_a_seed_fixes_the_parameters_as_upstream_does(self):
    peer = await self.peer()
    goals = [(await peer.reset(seed=s)) for s in (7, 7, 8, 2**64 - 1)]
    self.assertEqual(goals[0]['goal'], goals[1]['goal'])
    self.assertEqual(4 - 1, len({g['goal'] for g in goals}))
    expected = int(hashlib.sha256(b'7_ContactsAddContact_0').hexdigest(), 16) % 2**32
    self.assertEqual(expected, goals[0]['info']['instance_seed'])

  async def test_a_mistake_of_the_agent_counts_and_executes_nothing(self):
    peer = await self.peer()
    await peer.reset(max_steps=30)
    mistakes = (
        {'action_type': 'fly'}, {'action_type': 'unknown'}, {'action_type': None}, {'action_type': 'click'}, {'action_type': 'click', 'index': 99},
        {'action_type': 'click', 'x': 400, 'y': 5}, {'action_type': 'click', 'x': -1, 'y': 5}, {'action_type': 'click', 'x': 5},
        {'action_type': 'click', 'x': 'a', 'y': 'b'},
        {'action_type': 'scroll', 'direction': 'north'}, {'action_type': 'open_app'}, {'action_type': 'open_app', 'app_name': 'x; reboot'},
        {'action_type': 'input_text', 'x': 5, 'y': 5}, {'action_type': 'input_text', 'text': 'a' * 2001},
        {'action_type': 'input_text', 'text': 'a', 'clear_text': 1},
        {'action_type': 'answer'}, {'action_type': 'wait', 'seconds': 5},
    )
    for n, fields in enumerate(mistakes, 1):
      with self.subTest(fields=str(fields)[:80]):
        phone.log.clear()
        observation = (await peer.step(fields.pop('action_type'), **fields))['observation']
        self.assertEqual('BAD_ACTION', observation['last_action_error']['code'])
        self.assertEqual(n, observation['info']['step'])
        self.assertFalse([w for w in phone.log if 'input' in w or 'am' in w])
    self.assertIsNone((await peer.step('wait'))['observation']['last_action_error'])

  async def test_mistakes_use_up_the_budget(self):
    peer = await self.peer()
    await peer.reset(max_steps=2)
    await peer.step('fly')
    end = await peer.step('fly')
    self.assertEqual((True, True), (end['done'], end['observation']['truncated']))
    self.assertEqual('BAD_ACTION', end['observation']['last_action_error']['code'])

  async def test_an_index_means_what_was_observed(self):
    peer = await self.peer()
    await peer.reset('SystemWifiTurnOff')
    phone.screen = 'settings'  # It changes after the observation: index 1 was Settings at y = 150.
    await peer.step('click', index=1)
    self.assertIn(['shell', 'input', 'tap', '200', '150'], phone.log)
    await peer.step('click', index=0, x=10, y=20)
    self.assertIn(['shell', 'input', 'tap', '10', '20'], phone.log)

  async def test_scrolls(self):
    peer = await self.peer()
    await peer.reset('SystemWifiTurnOff')
    await peer.tap((200, 150))
    swipes = {
        ('down', ()): 'stub scroll', ('down', (('index', 1), ('x', 200), ('y', 150))): 'input swipe 200 150 200 100',
        ('up', (('x', 9), ('y', 150))): 'input swipe 200 150 200 200', ('left', (('x', 9), ('y', 700))): 'input swipe 200 400 400 400',
        ('right', (('index', 0),)): 'input swipe 200 50 0 50',
    }
    for (direction, where), words in swipes.items():
      with self.subTest(direction=direction, where=where):
        await peer.step('scroll', direction=direction, **dict(where))
        self.assertIn(f'shell {words}', [' '.join(w) for w in phone.log])

  async def test_other_actions_reach_the_device(self):
    peer = await self.peer()
    await peer.reset(max_steps=20)
    point = {'x': 1, 'y': 1}
    for kind, fields in (('double_tap', point), ('long_press', point), ('swipe', {'direction': 'up'}), ('keyboard_enter', {}), ('navigate_back', {})):
      self.assertIsNone((await peer.step(kind, **fields))['observation']['last_action_error'])
      self.assertEqual(['shell', 'stub', kind], [w for w in phone.log if w[1] == 'stub'][-1])
    await peer.step('open_app', app_name='settings')
    self.assertEqual('settings', phone.screen)
    await peer.step('navigate_home')
    self.assertEqual('home', phone.screen)

  async def test_text_outside_ascii_is_pasted(self):
    peer = await self.peer()
    await peer.reset()
    await peer.tap((200, 50))
    await peer.tap((200, 50))
    text = 'Zoë "李" $(reboot); \'x\''
    observation = (await peer.step('input_text', x=200, y=50, text=text))['observation']
    self.assertEqual(text, observation['elements'][0]['value'])
    self.assertEqual(['shell', 'input', 'keyevent', 'KEYCODE_ENTER'], phone.log[-1])
    phone.adb_keyboard = True
    phone.clipboard = ''
    observation = (await peer.step('input_text', x=200, y=50, text='žluť', clear_text=True))['observation']
    self.assertEqual('žluť', observation['elements'][0]['value'])
    self.assertEqual(('', 'stub/.Keyboard'), (phone.clipboard, phone.ime))
    self.assertFalse([w for w in phone.log if w[1:3] == ['input', 'text']])

  async def test_miniwob_ends_with_its_reward(self):
    peer = await self.peer()
    for reward, score in (('1', 1.0), ('-1', 0.0), ('0.69', 0.0), ('-0.75', 0.0)):
      with self.subTest(reward=reward):
        phone.page_reward = reward
        await peer.reset('click-test')
        self.assertFalse((await peer.step('wait'))['done'])
        end = await peer.tap((200, 150))
        observation = end['observation']
        self.assertEqual((True, score, score == 1, float(reward)), (end['done'], observation['score'], observation['success'], observation['info']['raw']))
        self.assertEqual(0, phone.open_tasks)
    await peer.reset('click-test')
    self.assertEqual(0.0, (await peer.step('status', goal_status='complete'))['observation']['score'])

  async def test_a_screenshot_is_the_one_of_the_observation(self):
    peer = await self.peer()
    observation = await peer.reset()
    self.assertNotIn('image', json.dumps(observation))
    phone.screen = 'settings'
    data = (await peer.ask('state', image='png'))['data']
    self.assertEqual(('image/png', peer.generation), (data['image']['mime'], data['generation']))
    width, height, pixels = _unpack(base64.b64decode(data['image']['b64']))
    self.assertEqual((WIDTH, HEIGHT), (width, height))
    self.assertEqual({0, len('home')}, set(pixels))

  async def test_a_reset_follows_an_episode_that_did_not_end(self):
    peer = await self.peer()
    await peer.reset()
    await peer.tap((200, 50))
    again = await peer.reset('SystemWifiTurnOff')
    self.assertEqual((2, 0, 1), (again['info']['generation'], again['info']['step'], phone.open_tasks))


class _Element:
  """Returns a UIElement, with a box (x_min, x_max, y_min, y_max) if there is one."""

  is_visible = is_enabled = True

  def __init__(self, box):
    self.bbox_pixels = type('Box', (), dict(zip(('x_min', 'x_max', 'y_min', 'y_max'), box))) if box else None

  def __getattr__(self, name):
    return None


def _unpack(png: bytes) -> tuple[int, int, bytes]:
  """Checks the checksums of a PNG and returns its width, height and filtered rows."""
  assert png[:8] == b'\x89PNG\r\n\x1a\n'
  at, found = 8, {}
  while at < len(png):
    length, kind = struct.unpack('>I4s', png[at:at + 8])
    body = png[at + 8:at + 8 + length]
    assert struct.unpack('>I', png[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
    found[kind] = body
    at += 12 + length
  assert b'IEND' in found
  return (*struct.unpack('>II', found[b'IHDR'][:8]), zlib.decompress(found[b'IDAT']))
