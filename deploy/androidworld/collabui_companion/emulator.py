"""The emulator's process: start, wait for boot, connect, kill, memory. Every call blocks."""

import os
import pathlib
import shlex
import signal
import subprocess
import time

from android_env.components import adb_controller
from android_env.components import config_classes
from android_env.components import errors
from android_world.env import env_launcher

from collabui_companion.device import Phone
from collabui_companion.problems import Problem

KILL_GRACE_S = 10.0  # Between SIGTERM and SIGKILL.
POLL_S = 1.0
PREPARE = (
    'settings put global window_animation_scale 0.0; settings put global transition_animation_scale 0.0; '
    'settings put global animator_duration_scale 0.0',
    'settings put global hidden_api_policy_pre_p_apps 1; settings put global hidden_api_policy_p_apps 1; '
    'settings put global hidden_api_policy 1',
)


class Emulator:
  """Starts an emulator in its own process group.

  With an empty command, the emulator is already running, and only the connection is made and cut.
  """

  def __init__(self, options):
    self.options = options
    self.process = None
    self.setup = options.setup  # Whether the setup is still needed.
    self.boot_s = 0.0  # Seconds that the last boot took, including the connection.

  def alive(self) -> bool:
    return not self.options.emulator_command or (self.process is not None and self.process.poll() is None)

  def boot(self, counts) -> Phone:
    """Starts the emulator, waits for Android, prepares it as upstream's container does, and connects.

    Raises ADB if that fails.
    """
    began = time.monotonic()
    process = None
    try:
      if self.options.emulator_command:
        command = shlex.split(self.options.emulator_command)
        process = self.process = subprocess.Popen(
            command, start_new_session=True, stdin=subprocess.DEVNULL, stdout=2)
      config = config_classes.AdbControllerConfig(
          adb_path=self.options.adb, device_name=f'emulator-{self.options.console_port}')
      adb = adb_controller.AdbController(config)
      self._wait(adb, began + self.options.boot_timeout)
      adb.execute_command(['root'], timeout=30)
      adb.execute_command(['wait-for-device'], timeout=60)
      for command in PREPARE:
        adb.execute_command(['shell', command], timeout=30)
      env = env_launcher.load_and_setup_env(
          console_port=self.options.console_port, emulator_setup=self.setup, freeze_datetime=True,
          adb_path=self.options.adb, grpc_port=self.options.grpc_port)
      env.hide_automation_ui()
      if self.setup:
        adb.execute_command(['shell', 'sync'], timeout=60)  # A later kill must not lose what the setup wrote.
    except Exception as e:
      if process is self.process:  # It is not the process of a later boot.
        self.kill()
      raise Problem('ADB', f'the emulator did not boot: {type(e).__name__}: {e}') from e
    if self.setup and self.options.setup_marker:
      pathlib.Path(self.options.setup_marker).touch()
    self.setup = False
    self.boot_s = time.monotonic() - began
    return Phone(env, counts)

  def _wait(self, adb, deadline: float) -> None:
    while time.monotonic() < deadline:
      if not self.alive():
        raise RuntimeError('the emulator ended')
      try:
        adb.execute_command(['wait-for-device'], timeout=20)
        if adb.execute_command(['shell', 'getprop', 'sys.boot_completed'], timeout=10).strip() == b'1':
          return
      except errors.AdbControllerError:
        pass
      time.sleep(POLL_S)
    raise TimeoutError(f'Android is not up after {self.options.boot_timeout:.0f} s')

  def kill(self) -> None:
    """Ends the process group. SIGKILL follows SIGTERM after 10 s. The call may be repeated."""
    process, self.process = self.process, None
    if process is None:
      return
    for number in (signal.SIGTERM, signal.SIGKILL):
      try:
        os.killpg(process.pid, number)
        process.wait(KILL_GRACE_S)
      except (ProcessLookupError, subprocess.TimeoutExpired):
        pass

  def rss_mb(self) -> int:
    """Returns the resident memory in MiB of this process and of the emulator that it started."""
    session = self.process.pid if self.process else -1
    pages = 0
    for path in pathlib.Path('/proc').glob('[0-9]*/stat'):
      try:
        fields = path.read_text().rsplit(')', 1)[1].split()
      except (OSError, IndexError):  # The process has ended.
        continue
      if int(path.parent.name) == os.getpid() or int(fields[3]) == session:
        pages += int(fields[21])
    return pages * os.sysconf('SC_PAGE_SIZE') >> 20
