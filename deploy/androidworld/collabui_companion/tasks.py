"""The tasks of the installed android_world, as `state` and the export list them."""

import hashlib
import importlib.metadata
import json
import logging
import random

from android_world import registry

GROUPS = ('android_world', 'information_retrieval', 'miniwob')


def instance_seed(seed: int, name: str) -> int:
  """Returns the seed of a task's parameters, 0 to 2^32 - 1, as in the first instance of upstream's suite of `seed`."""
  return int(hashlib.sha256(f'{seed}_{name}_0'.encode()).hexdigest(), 16) % 2**32


def make(cls, seed: int, env=None):
  """Returns a task instance with upstream's parameters of an instance seed.

  android_world draws from the module `random`, which stays seeded.
  """
  cls.set_device_time(env)
  random.seed(seed)
  params = cls.generate_random_params()
  params['seed'] = seed
  return cls(params)


def budget(complexity: float) -> int:
  """Returns upstream's step budget."""
  return int(10 * complexity)


def catalogue() -> dict[str, tuple[str, type]]:
  """Returns all tasks: name -> (group, class)."""
  known = registry.TaskRegistry()
  families = (known.ANDROID_FAMILY, known.INFORMATION_RETRIEVAL_FAMILY, known.MINIWOB_FAMILY)
  out = {}
  for group, family in zip(GROUPS, families):
    for name, cls in sorted(known.get_registry(family).items()):
      out[name] = (group, cls)
  return out


def describe(name: str, group: str, cls: type) -> dict:
  """Returns {name, group, max_steps, start_on_home_screen, apps, template?}. It does not touch the device."""
  task = cls
  if group == 'information_retrieval' or isinstance(cls.complexity, property) or isinstance(cls.app_names, property):
    try:  # The figures of such a task are known only from an instance.
      task = make(cls, instance_seed(0, name))
    except Exception as e:  # pylint: disable=broad-exception-caught
      logging.warning('%s cannot be instantiated here: %s', name, e)
  complexity = task.complexity if isinstance(task.complexity, (int, float)) else 1.0
  apps = task.app_names if isinstance(task.app_names, (tuple, list)) else ()
  entry = {
      'name': name,
      'group': group,
      'max_steps': budget(complexity),
      'start_on_home_screen': bool(cls.start_on_home_screen),
      'apps': [a for a in apps if a],
  }
  template = getattr(task, 'template', '')
  return entry | ({'template': template} if isinstance(template, str) and template else {})


def listing() -> list[dict]:
  return [describe(name, group, cls) for name, (group, cls) in catalogue().items()]


def version() -> str:
  """Returns the version of the installed android_world and, if pip installed it from git, the commit."""
  try:
    dist = importlib.metadata.distribution('android_world')
  except importlib.metadata.PackageNotFoundError:
    return 'unknown'
  commit = json.loads(dist.read_text('direct_url.json') or '{}').get('vcs_info', {}).get('commit_id', '')
  return f'{dist.version}+{commit[:7]}' if commit else dist.version
