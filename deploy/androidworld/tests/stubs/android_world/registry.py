"""Stub of the registry of tasks."""

from android_world.task_evals.information_retrieval import information_retrieval
from android_world.task_evals.miniwob import miniwob_base
from android_world.task_evals.single import contacts
from android_world.task_evals.single import system


class TaskRegistry:
  ANDROID_WORLD_FAMILY = 'android_world'
  ANDROID_FAMILY = 'android'
  INFORMATION_RETRIEVAL_FAMILY = 'information_retrieval'
  MINIWOB_FAMILY = 'miniwob'
  MINIWOB_FAMILY_SUBSET = 'miniwob_subset'

  def get_registry(self, family: str):
    classes = (contacts.ContactsAddContact, system.SystemWifiTurnOff, system.TurnOffWifiAndAddContact, system.UnknownApp)
    android = {cls.__name__: cls for cls in classes}
    answered = {'ContactsNumber': information_retrieval.ContactsNumber}
    pages = {'click-test': miniwob_base.ClickTestMiniWob}
    return {'android_world': {**android, **answered}, 'android': android, 'information_retrieval': answered, 'miniwob': pages, 'miniwob_subset': pages}[family]
