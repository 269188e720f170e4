"""The thread that runs everything that touches the device."""

import asyncio
import queue
import threading
import time

from collabui_companion.problems import Problem


class Call:
  """A call. `tag` is the lease for which it runs; `started` is None while it waits."""

  def __init__(self, fn, tag, future: asyncio.Future):
    self.fn, self.tag, self.future = fn, tag, future
    self.started = None


class Worker:
  """Runs calls one after another in a daemon thread. Use its methods in the thread of the event loop."""

  def __init__(self):
    self._loop = asyncio.get_running_loop()
    self._queue = queue.SimpleQueue()
    self._abandoned = False
    self.calls = []  # The unfinished calls, oldest first.
    threading.Thread(target=self._run, name='device', daemon=True).start()

  def submit(self, fn, tag=None) -> asyncio.Future:
    """Queues fn() and returns the future of its result. The call continues even if nothing awaits the future."""
    call = Call(fn, tag, self._loop.create_future())
    self.calls.append(call)
    self._queue.put(call)
    return call.future

  @property
  def running(self):
    """The running call, or None."""
    return self.calls[0] if self.calls and self.calls[0].started else None

  def busy_s(self) -> float:
    """Returns how long the running call has run, in seconds; 0 if no call runs."""
    call = self.running
    return time.monotonic() - call.started if call else 0.0

  async def idle(self, timeout_s: float) -> bool:
    """Waits until no call is left. Returns False if this takes longer than timeout_s seconds."""
    deadline = time.monotonic() + timeout_s
    while self.calls and time.monotonic() < deadline:
      await asyncio.sleep(0.02)
    return not self.calls

  def abandon(self, reason: str) -> None:
    """Abandons the thread: waiting calls never run, and all calls end with ADB now.

    The caller has fenced the device off from the thread.
    """
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
      except RuntimeError:  # The loop is closed: the program ends.
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
      call.future.exception()  # Otherwise asyncio logs the error of a call that nothing awaits.
