"""Stub of android_env's exceptions."""


class AndroidEnvError(Exception):
  pass


class AdbControllerError(AndroidEnvError):
  pass


class SimulatorError(AndroidEnvError):
  pass
