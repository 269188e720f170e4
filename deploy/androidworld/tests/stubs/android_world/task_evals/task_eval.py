"""Stub of a task's life: initialized once, scored only between initialize and tear-down."""

import random
from typing import Any

from android_world.env import adb_utils
from stub_phone import phone


class TaskEval:
  template = ''
  start_on_home_screen = True
  complexity = 1.0
  app_names = ()

  def __init__(self, params: dict[str, Any]):
    self.initialized = False
    self._params = params

  @property
  def name(self) -> str:
    return self.__class__.__name__

  @property
  def params(self) -> dict[str, Any]:
    return self._params

  @property
  def goal(self) -> str:
    return self.template.format(**self.params)

  @classmethod
  def generate_random_params(cls) -> dict[str, Any]:
    return {}

  @classmethod
  def set_device_time(cls, env) -> None:
    del env

  def initialize_task(self, env) -> None:
    env.interaction_cache = ''
    adb_utils.issue_generic_request('shell date', env.controller)
    if self.initialized:
      raise RuntimeError(f'{self.name}.initialize_task() is already called.')
    self.initialized = True
    phone.open_tasks += 1
    phone.at('initialize')
    random.seed(self.params['seed'])

  def is_successful(self, env) -> float:
    del env
    if not self.initialized:
      raise RuntimeError(f'{self.name}.initialize_task() must be called before {self.name}.is_successful().')
    phone.at('score')
    return 1.0

  def tear_down(self, env) -> None:
    phone.at('tear_down')
    adb_utils.issue_generic_request('shell close_recents', env.controller)
    if self.initialized:
      phone.open_tasks -= 1
    self.initialized = False
