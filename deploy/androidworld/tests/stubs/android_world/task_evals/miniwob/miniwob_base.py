"""Stub of a MiniWoB task; its own reader of rewards fails on fractions, as the real reader does."""

from android_world.env import adb_utils
from android_world.task_evals import task_eval
from stub_phone import phone


def get_episode_reward(env) -> float:
  raw = adb_utils.send_android_intent('broadcast', 'com.google.androidenv.miniwob.app.GET_REWARD_ACTION', env)
  reward = adb_utils.extract_broadcast_data(raw.generic.output.decode())
  return float(int(reward)) if reward else 0.0


class MiniWoBTask(task_eval.TaskEval):
  start_on_home_screen = False
  template = 'Follow the instructions shown on the top of the screen: {utterance}'
  app_names = ('com.google.androidenv.miniwob',)
  complexity = 3

  @property
  def goal(self):
    if not self.initialized:
      raise ValueError('MiniWoB task must be initialized')
    return super().goal

  @classmethod
  def generate_random_params(cls):
    return {'task_name': 'click-test'}

  def initialize_task(self, env):
    super().initialize_task(env)
    phone.screen, phone.reward = 'miniwob', ''
    self._params['utterance'] = 'Click the button.'

  def is_successful(self, env):
    super().is_successful(env)
    return float(get_episode_reward(env.controller) == 1.0)


ClickTestMiniWob = type('MiniWobClickTest', (MiniWoBTask,), {})
