"""Leases on the one emulator, its health and its restarts.

Everything here runs in the event loop. Calls that touch the device run in the worker.
"""

import asyncio
import collections
import dataclasses
import logging
import time

from collabui_companion import tasks
from collabui_companion.emulator import Emulator
from collabui_companion.episode import Episode
from collabui_companion.problems import Problem, as_problem
from collabui_companion.worker import Worker

PROBE_S = 10.0
CONNECT_S = 300.0  # In addition to the time to boot.
SETUP_S = 3600.0
DRAIN_S = 5.0  # How long a hanging call may take to end after its emulator was killed.
NOT_FAULTS = ('BUSY', 'STALE_LEASE', 'SESSION_ERROR')


@dataclasses.dataclass(eq=False)
class Lease:
  """The right to use the device until the next lease. `touched` is the time of its last frame or answer."""

  generation: int
  ttl_s: float
  touched: float


class Companion:
  """An emulator and its leases. Call `start` first, in the running loop."""

  def __init__(self, options):
    self.options = options
    self.catalogue = tasks.catalogue()
    self.tasks = tasks.listing()
    self.emulator = Emulator(options)
    self.failures = collections.Counter()  # Failures by code.
    self.generation = 0
    self.lease = None
    self.phone = None
    self.episode = None  # Only the worker sets it.
    self.episodes = 0
    self.restarts = 0
    self.dead = ''  # The reason, if there is no emulator.
    self.worker = None
    self._boot = None
    self._watch = None

  async def start(self) -> None:
    self.worker = Worker()
    self._boot = asyncio.create_task(self._boot_up())
    self._watch = asyncio.create_task(self._watchdog())

  async def stop(self) -> None:
    """Tears down the open episode, within 5 s, and kills the emulator."""
    self._watch.cancel()
    if self.lease:
      self.end(self.lease)
    if not self.booting:
      await self.worker.idle(DRAIN_S)
    self._boot.cancel()
    if self.phone:
      self.phone.fence()
    await asyncio.get_running_loop().run_in_executor(None, self.emulator.kill)

  @property
  def booting(self) -> bool:
    return not self._boot.done()

  @property
  def busy(self) -> bool:
    return self.booting or bool(self.worker.calls)

  # Leases

  def take(self, ttl_s: float, own: Lease | None = None) -> Lease:
    """Returns a lease and fences all older leases.

    Raises BUSY while anything runs, CAPACITY_REACHED while another connection holds a lease, and ADB without an
    emulator.
    """
    if self.busy:
      raise Problem('BUSY', self.detail(), retry_after_s=10 if self.booting else 1)
    if self.lease is not None and self.lease is not own:
      raise Problem('CAPACITY_REACHED', 'the emulator is leased to another connection')
    self._need_emulator()
    self.generation += 1
    self.lease = Lease(self.generation, ttl_s, time.monotonic())
    return self.lease

  def check(self, lease: Lease | None, generation: int | None) -> None:
    """Raises STALE_LEASE unless the lease holds and the frame names this lease or no lease."""
    if lease is None:
      raise Problem('SESSION_ERROR', 'no lease yet: send a reset first')
    if self.lease is not lease or generation not in (None, lease.generation):
      named = lease.generation if generation is None else generation
      raise Problem('STALE_LEASE', f'lease {named} does not hold; the generation is {self.generation}')

  async def begin(self, lease: Lease, name: str, seed: int, max_steps: int | None) -> dict:
    """Tears down the previous episode and begins another."""
    group, cls = self.catalogue[name]

    def run():
      self._drop(self.episode)
      self.check(lease, None)
      self.episode = Episode(self.phone, lease, name, group, cls, seed, max_steps)
      return self.episode.begin()

    self.episodes += 1
    return await self._call(lease, run)

  async def step(self, lease: Lease, data: dict) -> dict:
    def run():
      if self.episode is None or self.episode.owner is not lease:
        raise Problem('SESSION_ERROR', 'a step without an episode')
      return self.episode.step(data)

    return await self._call(lease, run)

  async def screenshot(self, lease: Lease) -> bytes:
    """Returns the picture of the lease's last observation as PNG."""
    return await self._call(lease, lambda: self.phone.screenshot())

  def end(self, lease: Lease) -> asyncio.Future | None:
    """Ends a lease, and tears its episode down after the running call.

    Returns the future of the tear-down, or None if the lease had already ended.
    """
    if self.lease is not lease:
      return None
    self.lease = None

    def run():
      if self.episode is not None and self.episode.owner is not self.lease:
        self._drop(self.episode)

    return self.worker.submit(run)

  def _drop(self, episode: Episode | None) -> None:
    """Closes an episode and forgets it. The next reset or restart tries again if the tear-down fails."""
    if episode is not None:
      episode.close()
      if self.episode is episode and episode.torn:
        self.episode = None

  async def _call(self, lease: Lease, fn):
    """Runs fn() in the worker. The lease must hold when it is queued, right before it runs, and afterwards."""

    def fenced():
      self.check(lease, None)
      return fn()

    self.check(lease, None)
    try:
      self._need_emulator()
      result = await self.worker.submit(fenced, lease)
    except Exception as e:
      problem = as_problem(e)
      if problem is not e:
        logging.exception('a call failed')
      if problem.code not in NOT_FAULTS:
        self.failures[problem.code] += 1
      if problem.code != 'ADB':
        self.check(lease, None)
      raise problem from e
    finally:
      lease.touched = time.monotonic()
    self.check(lease, None)
    return result

  def _need_emulator(self) -> None:
    if self.dead or not self.emulator.alive():
      raise Problem('ADB', self.detail())

  # Health

  def level(self) -> str:
    if self.busy:
      return 'busy'
    if self.dead or not self.emulator.alive():
      return 'dead'
    return 'degraded' if self.phone.source != 'a11y' or not self.phone.clean or self.phone.lost else 'ready'

  def detail(self) -> str:
    if self.booting:
      return 'the emulator boots'
    if self.worker.calls:
      return f'a call has run for {self.worker.busy_s():.0f} s'
    if self.dead or not self.emulator.alive():
      return self.dead or 'the emulator ended'
    if self.phone.source != 'a11y':
      return 'elements come from uiautomator'
    if not self.phone.clean:
      return 'the last tear-down failed'
    return 'the last accessibility tree was lost' if self.phone.lost else ''

  def ready(self) -> dict:
    return {
        'level': self.level(),
        'detail': self.detail(),
        'generation': self.generation,
        'leased': self.lease is not None,
        'busy_s': round(self.worker.busy_s(), 3),
        'episodes': self.episodes,
        'restarts': self.restarts,
        'failures': dict(self.failures),
        'rss_mb': self.emulator.rss_mb(),
        'boot_s': round(self.emulator.boot_s, 3),
    }

  def free(self) -> bool:
    """Reports whether a probe would not disturb anything."""
    return not self.busy and not (self.episode is not None and self.episode.open)

  async def probe(self) -> dict:
    """Goes to the home screen and observes it, within 10 s. A longer probe continues and keeps the device busy."""
    began = time.monotonic()
    detail = ''
    try:
      self._need_emulator()
      await asyncio.wait_for(self.worker.submit(lambda: self.phone.probe()), PROBE_S)
    except asyncio.TimeoutError:
      detail = f'no observation within {PROBE_S:.0f} s'
    except Exception as e:  # pylint: disable=broad-exception-caught
      problem = as_problem(e)
      self.failures[problem.code] += 1
      detail = f'{problem.code}: {problem}'
    return {'ok': not detail, 'took_s': round(time.monotonic() - began, 3), 'detail': detail}

  # Restarts

  def leased_since(self, seen: str) -> bool:
    """Reports whether the emulator works and was leased after a client saw it at a generation.

    A restart that this client requests would end another worker's episode.
    """
    newer = seen.isdecimal() and self.generation > int(seen)
    return newer and self.lease is not None and self.level() != 'dead'

  def restart(self, reason: str) -> bool:
    """Kills and boots the emulator in the background. Every lease is void. Returns False if it is already booting."""
    if self.booting:
      return False
    logging.warning('restart: %s', reason)
    self.restarts += 1
    self.generation += 1
    self.lease = None
    self._boot = asyncio.create_task(self._reboot(reason))
    return True

  async def _reboot(self, reason: str) -> None:
    old = self.phone
    if old is not None:
      old.fence()
    await asyncio.get_running_loop().run_in_executor(None, self.emulator.kill)
    if not await self.worker.idle(DRAIN_S):
      self.worker.abandon(f'the emulator was restarted: {reason}')
      self.worker = Worker()
    left, self.episode = self.episode, None
    await self._boot_up(old, left)

  async def _boot_up(self, old=None, left: Episode | None = None) -> None:
    """Boots and connects, and tears down an episode that was left on the device."""

    def run():
      if old is not None:
        old.close()
      phone = self.emulator.boot(self.failures)
      if left is not None:
        left.close(phone)
      return phone

    self.dead = ''
    limit_s = self.options.boot_timeout + CONNECT_S + (SETUP_S if self.emulator.setup else 0)
    try:
      self.phone = await asyncio.wait_for(self.worker.submit(run), limit_s)
    except asyncio.TimeoutError:
      self.dead = f'the emulator was not connected after {limit_s:.0f} s'
      self.worker.abandon(self.dead)
      self.worker = Worker()
      await asyncio.get_running_loop().run_in_executor(None, self.emulator.kill)
    except Exception as e:  # pylint: disable=broad-exception-caught
      logging.exception('boot')
      self.dead = str(as_problem(e))

  async def _watchdog(self) -> None:
    """Ends expired leases, and restarts the emulator if a call hangs in it.

    A running call does not count against the time of its lease.
    """
    while True:
      await asyncio.sleep(min(0.5, self.options.hang_limit / 4))
      if self.booting:
        continue
      running = self.worker.running
      if running and self.worker.busy_s() > self.options.hang_limit:
        self.failures['HANG'] += 1
        self.restart(f'a call ran longer than {self.options.hang_limit:.0f} s')
        continue
      idle = self.lease and not (running and running.tag is self.lease)
      if idle and time.monotonic() - self.lease.touched > self.lease.ttl_s:
        logging.warning('lease %d ends: no frame for %.0f s', self.lease.generation, self.lease.ttl_s)
        self.end(self.lease)
