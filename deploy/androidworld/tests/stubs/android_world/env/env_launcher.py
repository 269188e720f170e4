"""Stub of the launcher."""

from android_world.env import android_world_controller
from android_world.env import interface
from stub_phone import phone


def load_and_setup_env(
    console_port: int = 5554, emulator_setup: bool = False, freeze_datetime: bool = True, adb_path: str = '', grpc_port: int = 8554) -> interface.AsyncEnv:
  del console_port, freeze_datetime, adb_path, grpc_port
  phone.at('boot')
  phone.boots += 1
  phone.setups += emulator_setup
  return interface.AsyncAndroidEnv(android_world_controller.AndroidWorldController(android_world_controller.RawEnv()))
