"""Stub of a task with an answer: only its instance has its app and complexity."""

from android_world.task_evals import task_eval


class InformationRetrieval(task_eval.TaskEval):

  def __init__(self, params):
    super().__init__(params)
    self.app_names = ('contacts',)
    self.complexity = 1.4
    self.template = 'What is the answer to {question}?'

  @classmethod
  def generate_random_params(cls):
    return {'question': 'everything'}

  def is_successful(self, env):
    super().is_successful(env)
    return float(env.interaction_cache == '42')


ContactsNumber = type('ContactsNumber', (InformationRetrieval,), {})
