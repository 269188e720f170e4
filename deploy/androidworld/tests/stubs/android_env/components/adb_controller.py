"""Stub of android_env's adb: Android is up `boot_s` seconds after the controller was made."""

import time

from android_env.components import errors
from stub_phone import phone


class AdbController:

  def __init__(self, config):
    del config
    self._up = time.monotonic() + phone.boot_s

  def execute_command(self, args: list[str], timeout: float | None = None, device_specific: bool = True) -> bytes:
    del timeout, device_specific
    if args[:2] == ['shell', 'getprop']:
      return b'1\n' if time.monotonic() >= self._up else b'\n'
    if phone.adb_dead:
      raise errors.AdbControllerError('no device')
    return b''
