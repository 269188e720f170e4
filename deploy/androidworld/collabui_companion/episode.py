"""An episode of a task, in upstream's order: initialize, home, steps, score, tear down.

Every method runs in the worker thread.
"""

import logging

from collabui_companion import actions
from collabui_companion import tasks
from collabui_companion.device import Phone
from collabui_companion.problems import BadAction, Problem


class Episode:
  """An episode of the lease `owner`.

  `open` reports whether steps are possible. An episode that raised an error is already torn down.
  """

  def __init__(self, phone: Phone, owner, name: str, group: str, cls: type, seed: int, max_steps: int | None):
    self.phone, self.owner = phone, owner
    self.name, self.group, self.cls = name, group, cls
    self.seed = tasks.instance_seed(seed, name)
    self.max_steps = max_steps
    self.steps = 0
    self.task = None
    self.goal = ''
    self.open = False
    self.torn = True  # Whether nothing is left to tear down.

  def begin(self) -> dict:
    """Sets the task up and returns the first observation."""
    self.phone.pixels = None
    try:
      self._set_up()
      self.phone.go(home=self.group != 'miniwob' and self.task.start_on_home_screen)
      self.phone.observe()
    except Exception as e:
      self.close()
      raise self.phone.blame(e, 'EXECUTION_ERROR') from e
    self.open = True
    return self._message({}, None, False)

  def _set_up(self) -> None:
    try:
      self.task = tasks.make(self.cls, self.seed, self.phone.env)
      if self.max_steps is None:
        self.max_steps = tasks.budget(self.task.complexity)
      if self.group != 'miniwob':  # MiniWoB's app is restarted; its state is never saved.
        self.phone.assert_snapshots(self.task.app_names)
      self.torn = False
      self.task.initialize_task(self.phone.env)
      self.goal = self.task.goal
    except Exception as e:
      raise self.phone.blame(e, 'TASK_INIT') from e

  def step(self, data: dict) -> dict:
    """Executes one action. If it ends the episode, scores and tears down."""
    if not self.open:
      raise Problem('SESSION_ERROR', 'the episode is over')
    try:
      return self._step(data)
    except Exception as e:
      self.close()
      raise self.phone.blame(e, 'EXECUTION_ERROR') from e

  def _step(self, data: dict) -> dict:
    self.steps += 1
    mistake = None
    kind = None
    try:
      fields = actions.parse(data, self.phone.elements, self.phone.size)
      kind = fields['action_type']
      self.phone.execute(fields)
    except BadAction as e:
      mistake = {'code': 'BAD_ACTION', 'message': str(e)}
    if mistake is None and kind not in ('status', 'answer'):  # The other actions change nothing on the screen.
      self.phone.observe()
    raw = self._reward() if self.group == 'miniwob' else 0.0
    done = kind == 'status' or raw != 0
    truncated = not done and self.steps >= self.max_steps
    if not (done or truncated):
      return self._message({'last_action_error': mistake}, 0.0, False)
    if self.group == 'miniwob':
      value = float(raw == 1)
    else:
      raw = value = float(self.task.is_successful(self.phone.env))
    score = value if done else 0.0
    self.close()
    end = {'last_action_error': mistake, 'truncated': truncated, 'score': score, 'success': score > 0.5}
    return self._message(end, score, True, raw=raw)

  def _reward(self) -> float:
    return self.phone.miniwob_reward(self.task.app_names[0])

  def close(self, phone: Phone | None = None) -> None:
    """Tears the task down if this is still needed, on `phone` if the episode's own connection is cut.

    A failure is logged, counted as TEAR_DOWN, and left to the next close.
    """
    self.open = False
    if self.torn:
      return
    phone = phone or self.phone
    try:
      self.task.tear_down(phone.env)
      self.torn = True
    except Exception:  # pylint: disable=broad-exception-caught
      logging.exception('tearing down %s', self.name)
      phone.counts['TEAR_DOWN'] += 1
    phone.clean = self.torn

  def _message(self, more: dict, reward: float | None, done: bool, **info) -> dict:
    info |= {
        'generation': self.owner.generation,
        'group': self.group,
        'step': self.steps,
        'instance_seed': self.seed,
        'elements_from': self.phone.source,
    }
    observation = {
        'goal': self.goal,
        'elements': self.phone.elements,
        'screen': {'w': self.phone.size[0], 'h': self.phone.size[1]},
        'max_steps': self.max_steps,
        'truncated': False,
        'last_action_error': None,
        **more,
        'info': info,
    }
    return {'observation': observation, 'reward': reward, 'done': done}
