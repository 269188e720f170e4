"""The one thread in which everything that touches the device runs."""

import asyncio
import queue
import threading
import time

from collabui_companion.problems import Problem


class Call:
  """One call: `tag` says for whom it runs, `started` is None while it waits."""

  def __init__(self, fn, tag, future: asyncio.Future):
    self.fn, self.tag, self.future = fn, tag, future
    self.started = None


class Worker:
  """Runs calls one after another in a daemon thread. Its methods are for the event loop's thread."""

  def __init__(self):
    self._loop = asyncio.get_running_loop()
    self._queue = queue.SimpleQueue()
    self._abandoned = False
    self.calls = []  # not finished, oldest first
    threading.Thread(target=self._run, name='device', daemon=True).start()

  def submit(self, fn, tag=None) -> asyncio.Future:
    """Queues fn(); its result or exception arrives in the future. A future that nobody awaits any more does not stop the call."""
    call = Call(fn, tag, self._loop.create_future())
    self.calls.append(call)
    self._queue.put(call)
    return call.future

  @property
  def running(self):
    """The call that runs, or None."""
    return self.calls[0] if self.calls and self.calls[0].started else None

  def busy_s(self) -> float:
    """Seconds that the running call has run; 0 without one."""
    call = self.running
    return time.monotonic() - call.started if call else 0.0

  async def idle(self, timeout_s: float) -> bool:
    """Waits until no call is left; False where that takes longer than timeout_s seconds."""
    deadline = time.monotonic() + timeout_s
    while self.calls and time.monotonic() < deadline:
      await asyncio.sleep(0.02)
    return not self.calls

  def abandon(self, reason: str) -> None:
    """Gives up the thread: what waits never runs, and what runs is answered with ADB now. The caller has fenced the device from it."""
    self._abandoned = True
    for call in self.calls:
      if not call.future.done():
        call.future.set_exception(Problem('ADB', reason))
        call.future.exception()
    self.calls = []
    self._queue.put(None)

  def _run(self) -> None:
    while (call := self._queue.get()) is not None:
      if self._abandoned:
        return
      call.started = time.monotonic()
      result, error = None, None
      try:
        result = call.fn()
      except BaseException as e:  # pylint: disable=broad-exception-caught
        error = e
      try:
        self._loop.call_soon_threadsafe(self._finish, call, result, error)
      except RuntimeError:  # the loop is closed: the program ends
        return

  def _finish(self, call: Call, result, error) -> None:
    if call in self.calls:
      self.calls.remove(call)
    if call.future.done():
      return
    if error is None:
      call.future.set_result(result)
    else:
      call.future.set_exception(error)
      call.future.exception()  # an error of a call that nobody awaits is no news to asyncio's log
