"""Stub of android_env's configuration."""

import dataclasses


@dataclasses.dataclass
class AdbControllerConfig:
  adb_path: str = ''
  adb_server_port: int = 5037
  default_timeout: float = 120.0
  device_name: str = ''
