"""Checks an agent's action against the observed screen, and turns it into fields of android_world's JSONAction."""

import re

from collabui_companion.problems import BadAction

TEXT_LIMIT = 2000  # Characters to type or to answer.
DIRECTIONS = ('up', 'down', 'left', 'right')
FIELDS = frozenset((
    'action_type', 'index', 'x', 'y', 'text', 'direction', 'goal_status', 'app_name', 'clear_text', 'generation',
))
POINTED = ('click', 'double_tap', 'long_press')
PLAIN = ('status', 'wait', 'keyboard_enter', 'navigate_home', 'navigate_back')


def parse(data: dict, elements: list[dict], size: tuple[int, int]) -> dict:
  """Returns the fields of a JSONAction, never an index.

  An index without x and y means the centre of the element that had this index in the observation. A scroll of an
  element also gets `area`: the [x, y, w, h] in pixels that scroll.
  Raises BadAction if the action is not in the family or does not fit the observed screen.
  """
  kind = data.get('action_type')
  if unknown := sorted(set(data) - FIELDS):
    raise BadAction(f'unknown fields {", ".join(unknown)[:200]}')
  if kind in POINTED:
    x, y = _point(data, elements, size) or _bad(f'{kind} needs an element')
    return {'action_type': kind, 'x': x, 'y': y}
  if kind == 'input_text':
    point = _point(data, elements, size)
    fields = {'action_type': kind, 'text': _text(data), 'clear_text': _flag(data)}
    return fields | ({'x': point[0], 'y': point[1]} if point else {})
  if kind in ('scroll', 'swipe'):
    direction = data.get('direction')
    if direction not in DIRECTIONS:
      _bad(f'direction is not one of {", ".join(DIRECTIONS)}')
    point = _point(data, elements, size) if kind == 'scroll' else None
    area = {'area': _area(data, point, elements, size)} if point else {}
    return {'action_type': kind, 'direction': direction} | area
  if kind == 'answer':
    return {'action_type': kind, 'text': _text(data)}
  if kind == 'open_app':
    name = data.get('app_name')
    if not isinstance(name, str) or not re.fullmatch(r'[\w][\w .+-]{0,99}', name, re.ASCII):
      _bad('app_name is not the name of an app')
    return {'action_type': kind, 'app_name': name}
  if kind in PLAIN:
    return {'action_type': kind}
  return _bad(f'unknown action {str(kind)[:100]!r}')


def _bad(message: str):
  raise BadAction(message)


def _text(data: dict) -> str:
  text = data.get('text')
  if not isinstance(text, str) or len(text) > TEXT_LIMIT:
    _bad(f'text is not a string of at most {TEXT_LIMIT} characters')
  return text


def _flag(data: dict) -> bool:
  flag = data.get('clear_text') or False
  return flag if isinstance(flag, bool) else _bad('clear_text is not a boolean')


def _element(data: dict, elements: list[dict]):
  i = data.get('index')
  if i is None:
    return None
  if isinstance(i, bool) or not isinstance(i, int) or not 0 <= i < len(elements):
    _bad(f'no element {str(i)[:50]} was observed')
  return elements[i]


def _point(data: dict, elements: list[dict], size: tuple[int, int]):
  """Returns (x, y) in pixels inside the screen; None if the action names neither a point nor an element."""
  element, x, y = _element(data, elements), data.get('x'), data.get('y')
  if x is None and y is None:
    if element is None:
      return None
    left, top, w, h = element['bounds']
    x, y = left + w // 2, top + h // 2
  for v, limit in ((x, size[0]), (y, size[1])):
    if not isinstance(v, bool) and isinstance(v, (int, float)) and 0 <= v < limit:
      continue
    _bad(f'the point is outside the screen of {size[0]}x{size[1]}')
  return int(x), int(y)


def _area(data: dict, point, elements: list[dict], size: tuple[int, int]) -> list[int]:
  """Returns the area that a scroll at a point moves.

  This is the named element, the smallest scrollable element around the point, or the screen.
  """
  if element := _element(data, elements):
    return element['bounds']
  around = [e['bounds'] for e in elements if 'scrollable' in e.get('state', ()) and _inside(point, e['bounds'])]
  return min(around, key=lambda b: b[2] * b[3], default=[0, 0, *size])


def _inside(point, bounds: list[int]) -> bool:
  return all(low <= v < low + length for v, low, length in zip(point, bounds[:2], bounds[2:]))
