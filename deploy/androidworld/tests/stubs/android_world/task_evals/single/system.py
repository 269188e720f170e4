"""Stub tasks on the settings."""

from android_world.task_evals import task_eval
from stub_phone import phone


class SystemWifiTurnOff(task_eval.TaskEval):
  template = 'Turn wifi off.'
  app_names = ('settings',)

  def initialize_task(self, env):
    super().initialize_task(env)
    phone.wifi = True

  def is_successful(self, env):
    super().is_successful(env)
    return float(not phone.wifi)


class TurnOffWifiAndAddContact(task_eval.TaskEval):
  """A composite task: each half gives 0.5."""

  template = 'Turn wifi off and add a contact.'
  app_names = ('settings', 'contacts', 'clipper', '')

  @property
  def complexity(self):
    return 2

  def initialize_task(self, env):
    super().initialize_task(env)
    phone.wifi, phone.contacts = True, []

  def is_successful(self, env):
    super().is_successful(env)
    return (float(not phone.wifi) + float(bool(phone.contacts))) / 2


class UnknownApp(task_eval.TaskEval):
  template = 'Cannot be set up.'
  app_names = ('no such app',)
