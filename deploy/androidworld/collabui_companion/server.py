"""The wire: WebSocket sessions with the frames of the profile, and HTTP."""

import asyncio
import base64
import contextlib
import hmac
import ipaddress
import json
import logging
import os
import time

from aiohttp import web
from aiohttp import WSMsgType

from collabui_companion import actions
from collabui_companion import tasks
from collabui_companion.companion import Companion
from collabui_companion.problems import Problem, as_problem

KEY = 'COLLABUI_ENVS_KEY'
FRAME_LIMIT = 1 << 20  # Bytes.
SESSION_LIMIT = 16
WAITING_LIMIT = 8  # Frames that a session may send ahead of its answers.
HEARTBEAT_S = 30.0
TTL_S = 120.0
RESET_FIELDS = frozenset(('task', 'split', 'seed', 'max_steps', 'ttl_s', 'episode_id'))
PROFILE = {
    'profile': 'collabui/1',
    'suite': 'androidworld',
    'title': 'AndroidWorld',
    'family': 'mobile',
    'splits': ['all'],
    'capabilities': ['screenshot'],
}
SCHEMA = {
    'action': {
        'type': 'object', 'required': ['action_type'], 'additionalProperties': False,
        'properties': {
            'action_type': {
                'enum': [*actions.POINTED, *actions.PLAIN, 'input_text', 'scroll', 'swipe', 'open_app', 'answer'],
            },
            'direction': {'enum': list(actions.DIRECTIONS)}, 'clear_text': {'type': 'boolean'},
            **{name: {'type': 'integer'} for name in ('index', 'x', 'y', 'generation')},
            **{name: {'type': 'string'} for name in ('text', 'goal_status', 'app_name')},
        },
    },
    'observation': {
        'type': 'object',
        'required': ['goal', 'elements', 'screen', 'max_steps', 'truncated', 'last_action_error', 'info'],
    },
    'state': {'type': 'object', 'required': [*PROFILE, 'version', 'tasks']},
}


class Session:
  """A connection. `lease` is the lease of its last reset."""

  def __init__(self, companion: Companion):
    self.companion = companion
    self.lease = None
    self.closed = False

  async def answer(self, text) -> dict | None:
    """Returns the answer to one frame; None for a close."""
    if self.lease is not None:
      self.lease.touched = time.monotonic()
    try:
      kind, data = _frame(text)
      return await getattr(self, f'_{kind}')(data)
    except Exception as e:  # pylint: disable=broad-exception-caught
      if not isinstance(e, Problem):
        logging.exception('a frame failed')
      return {'type': 'error', 'data': as_problem(e).data()}

  async def _reset(self, data: dict) -> dict:
    name, seed = data.get('task'), data.get('seed', 0)
    max_steps, ttl_s = data.get('max_steps'), data.get('ttl_s', TTL_S)
    if unknown := sorted(set(data) - RESET_FIELDS):
      _invalid(f'unknown fields {", ".join(unknown)}')
    if not isinstance(name, str) or not isinstance(data.get('split', ''), str):
      _invalid('task and split must be strings')
    if not _whole(seed, 0, 2**64 - 1):
      _invalid('seed must be an unsigned 64-bit number')
    if max_steps is not None and not _whole(max_steps, 1, 1000):
      _invalid('max_steps must be a number from 1 to 1000')
    if isinstance(ttl_s, bool) or not isinstance(ttl_s, (int, float)) or not 0 < ttl_s <= 3600:
      _invalid('ttl_s must be a positive number of seconds up to 3600')
    if name not in self.companion.catalogue:
      raise Problem('UNKNOWN_TASK', f'no task {name!r} in the installed android_world')
    self.lease = self.companion.take(ttl_s, self.lease)
    return {'type': 'observation', 'data': await self.companion.begin(self.lease, name, seed, max_steps)}

  async def _step(self, data: dict) -> dict:
    self.companion.check(self.lease, _generation(data))
    return {'type': 'observation', 'data': await self.companion.step(self.lease, data)}

  async def _state(self, data: dict) -> dict:
    if unknown := sorted(set(data) - {'image', 'generation'}):
      _invalid(f'unknown fields {", ".join(unknown)}')
    listed = [{**t, 'split': 'all'} for t in self.companion.tasks]
    state = {**PROFILE, 'version': tasks.version(), 'tasks': listed, 'generation': self.companion.generation}
    generation = _generation(data)
    if (kind := data.get('image')) is not None:
      if kind != 'png':
        _invalid('image must be png or absent')
      self.companion.check(self.lease, generation)
      picture = await self.companion.screenshot(self.lease)
      image = {'mime': 'image/png', 'b64': base64.b64encode(picture).decode()}
      state |= {'image': image, 'generation': self.lease.generation}
    return {'type': 'state', 'data': state}

  async def _close(self, data: dict) -> None:
    generation = _generation(data)
    if self.lease is not None:
      self.companion.check(self.lease, generation)
      done = self.companion.end(self.lease)
      if done is not None:
        await done
    self.closed = True

  def lost(self) -> None:
    if self.lease is not None:
      self.companion.end(self.lease)


def _invalid(message: str):
  raise Problem('VALIDATION_ERROR', message)


def _whole(value, low: int, high: int) -> bool:
  return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _generation(data: dict) -> int | None:
  """Returns the generation that a frame names. A frame without one belongs to the lease of its connection."""
  value = data.get('generation')
  return value if value is None or _whole(value, 0, 2**63) else _invalid('generation must be a number')


def _frame(text) -> tuple[str, dict]:
  try:
    frame = json.loads(text)
  except (ValueError, RecursionError) as e:
    raise Problem('INVALID_JSON', str(e)) from e
  if not isinstance(frame, dict):
    _invalid('a frame must be an object')
  kind, data = frame.get('type'), frame.get('data')
  if kind not in ('reset', 'step', 'state', 'close'):
    raise Problem('UNKNOWN_TYPE', f'unknown type {str(kind)[:100]!r}')
  if set(frame) - {'type', 'data'} or not isinstance(data, (dict, type(None))):
    _invalid('a frame must have a type and may have data, an object, and nothing else')
  return kind, data or {}


def _loopback(host: str) -> bool:
  """Reports whether HOST or HOST:PORT is localhost or a loopback address."""
  name = host.rsplit(':', 1)[0] if host.count(':') == 1 or host.startswith('[') and ']:' in host else host
  name = name.strip('[]').lower()
  try:
    return name == 'localhost' or ipaddress.ip_address(name).is_loopback
  except ValueError:
    return False


class Keys:
  """The keys, separated by white space, of COLLABUI_ENVS_KEY or of the file that COLLABUI_ENVS_KEY_FILE names.

  All are accepted while one replaces another. The file is read again whenever the keys are needed; if this fails, or
  the file is empty, the old keys remain.
  """

  def __init__(self):
    self._path = os.environ.get(KEY + '_FILE')
    self._keys = self._read() if self._path else os.environ.get(KEY, '').split()

  def __call__(self) -> list[str]:
    if self._path:
      with contextlib.suppress(OSError):
        self._keys = self._read() or self._keys
    return self._keys

  def _read(self) -> list[str]:
    with open(self._path, encoding='utf-8') as file:
      return file.read().split()


def guard(keys):
  """Returns a middleware that refuses pages of web browsers and, if there are keys(), requests without one of them.

  Without a key the server listens only on this machine. A page can reach it across sites, or under its own name that it
  binds to the loopback: its Origin or its Host then differs from the server's.
  """

  @web.middleware
  async def guarded(request: web.Request, handler):
    header = request.headers
    if 'Origin' in header or header.get('Sec-Fetch-Site', 'none') not in ('none', 'same-origin'):
      raise web.HTTPForbidden(text='this server answers no web page')
    now = keys()
    if not now and not _loopback(request.host):
      raise web.HTTPMisdirectedRequest(text='this server answers only as localhost')
    given = header.get('Authorization', '').encode()
    right = [key for key in now if hmac.compare_digest(given, f'Bearer {key}'.encode())]
    if now and request.path != '/health' and not right:
      raise web.HTTPUnauthorized(text=f'the key in {KEY} is missing or wrong')
    return await handler(request)

  return guarded


class Server:
  """The routes around a companion. Every request except /health needs one of keys()."""

  def __init__(self, companion: Companion, keys=list):
    self.companion = companion
    self.keys = keys
    self.sockets = set()

  def application(self) -> web.Application:
    """Returns the application. The companion starts and stops with it."""
    app = web.Application(client_max_size=FRAME_LIMIT, middlewares=[guard(self.keys)])
    for path in ('health', 'metadata', 'schema', 'ready'):
      app.router.add_get(f'/{path}', getattr(self, f'_{path}'))
    app.router.add_post('/probe', self._probe)
    app.router.add_post('/restart', self._restart)
    app.router.add_get('/ws', self._websocket)
    app.on_startup.append(lambda _: self.companion.start())
    app.on_shutdown.append(self._close_sockets)
    app.on_cleanup.append(lambda _: self.companion.stop())
    return app

  async def _websocket(self, request: web.Request) -> web.WebSocketResponse:
    """Answers one frame after another. It reads meanwhile, so it notices a lost connection while a call runs."""
    socket = web.WebSocketResponse(max_msg_size=FRAME_LIMIT, heartbeat=HEARTBEAT_S)
    await socket.prepare(request)
    if len(self.sockets) >= SESSION_LIMIT:
      full = Problem('CAPACITY_REACHED', f'{SESSION_LIMIT} connections are open')
      await socket.send_json({'type': 'error', 'data': full.data()})
      await socket.close()
      return socket
    session, frames = Session(self.companion), asyncio.Queue()
    self.sockets.add(socket)
    answering = asyncio.create_task(_answers(socket, session, frames))
    try:
      async for message in socket:
        if message.type not in (WSMsgType.TEXT, WSMsgType.BINARY) or frames.qsize() >= WAITING_LIMIT:
          break
        frames.put_nowait(message.data)
    finally:
      session.lost()
      answering.cancel()
      self.sockets.discard(socket)
      await socket.close()
    return socket

  async def _close_sockets(self, _) -> None:
    for socket in list(self.sockets):
      await socket.close(code=1001)

  async def _health(self, _) -> web.Response:
    return web.json_response({'status': 'healthy'})

  async def _metadata(self, _) -> web.Response:
    about = {
        'name': PROFILE['suite'],
        'description': 'AndroidWorld on one emulator',
        'version': tasks.version(),
        'profile': PROFILE['profile'],
    }
    return web.json_response(about)

  async def _schema(self, _) -> web.Response:
    return web.json_response(SCHEMA)

  async def _ready(self, _) -> web.Response:
    return web.json_response(self.companion.ready())

  async def _probe(self, _) -> web.Response:
    if not self.companion.free():
      detail = self.companion.detail() or 'an episode is under way'
      return web.json_response({'ok': False, 'took_s': 0, 'detail': detail}, status=409)
    return web.json_response(await self.companion.probe())

  async def _restart(self, request: web.Request) -> web.Response:
    try:
      reason = json.loads(await request.text() or '{}').get('reason', '')
    except (ValueError, AttributeError, RecursionError):
      return web.json_response({'detail': 'the body must be a JSON object'}, status=400)
    if self.companion.leased_since(request.query.get('seen', '')):
      return web.json_response({'status': 'leased'}, status=409)
    begun = self.companion.restart(str(reason)[:200] or 'requested')
    return web.json_response({'status': 'restarting' if begun else 'under way'}, status=202)


async def _answers(socket: web.WebSocketResponse, session: Session, frames: asyncio.Queue) -> None:
  while not session.closed:
    answer = await session.answer(await frames.get())
    if answer is not None:
      await socket.send_json(answer)
  await socket.close()
