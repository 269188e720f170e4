"""Stub tasks on the contacts app."""

import random

from android_world.task_evals import task_eval
from stub_phone import phone


class ContactsAddContact(task_eval.TaskEval):
  template = 'Create a new contact for {name}. Their number is {number}.'
  app_names = ('contacts',)
  complexity = 1.2

  @classmethod
  def generate_random_params(cls):
    return {'name': random.choice(('Ann', 'Bob', 'Cem')), 'number': str(random.randint(100, 999))}

  def initialize_task(self, env):
    super().initialize_task(env)
    phone.contacts = []
    phone.screen = 'contacts'  # the companion has to go home

  def is_successful(self, env):
    super().is_successful(env)
    return float((self.params['name'], self.params['number']) in phone.contacts)
