"""A screen as the profile describes it: elements from android_world's UIElement, pictures as PNG."""

import struct
import zlib

ROLES = {
    'edittext': 'field',
    'autocompletetextview': 'field',
    'multiautocompletetextview': 'field',
    'imagebutton': 'button',
    'imageview': 'image',
    'textview': 'text',
    'radiobutton': 'radio',
    'togglebutton': 'switch',
    'seekbar': 'slider',
    'checkedtextview': 'checkbox',
}


def profile_elements(ui_elements, size: tuple[int, int]) -> list[dict]:
  """Returns all elements in upstream's order.

  `i` is the position in this list. Bounds are [x, y, w, h] in pixels. Elements that upstream hides are not visible.
  """
  return [_element(i, e, size) for i, e in enumerate(ui_elements)]


def _element(i: int, e, size: tuple[int, int]) -> dict:
  box = e.bbox_pixels
  x, y, right, bottom = (int(v) for v in (box.x_min, box.y_min, box.x_max, box.y_max)) if box else (0, 0, 0, 0)
  kind = (e.class_name or 'view').rsplit('.', 1)[-1].lower()
  role = ROLES.get(kind, kind)
  editable = bool(e.is_editable) or role == 'field'
  visible = bool(e.is_visible) and max(x, 0) < min(right, size[0]) and max(y, 0) < min(bottom, size[1])
  desc = e.content_description or (e.hint_text if editable else e.tooltip)
  out = {'i': i, 'id': e.resource_name or e.resource_id, 'role': role, 'desc': desc}
  out['value' if editable else 'text'] = e.text
  out['state'] = _states(e, role)
  out['editable'] = editable
  bounds = [x, y, max(right - x, 0), max(bottom - y, 0)]
  return {k: v for k, v in out.items() if v or k == 'i'} | {'bounds': bounds, 'visible': visible}


def _states(e, role: str) -> list[str]:
  states = []
  if e.is_checkable:
    on, off = ('on', 'off') if role == 'switch' else ('checked', 'unchecked')
    states.append(on if e.is_checked else off)
  flags = (
      ('selected', e.is_selected),
      ('disabled', e.is_enabled is False),
      ('focused', e.is_focused),
      ('scrollable', e.is_scrollable),
  )
  return states + [name for name, on in flags if on]


def png(pixels) -> bytes:
  """Returns a PNG of an array of unsigned bytes with the shape (height, width, 3)."""
  height, width, channels = pixels.shape
  if channels != 3:
    raise ValueError(f'{channels} channels, expected 3')
  raw, stride = pixels.tobytes(), width * 3
  rows = b''.join(b'\0' + raw[i:i + stride] for i in range(0, height * stride, stride))

  def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack('>I', len(body)) + kind + body + struct.pack('>I', zlib.crc32(kind + body))

  header = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
  return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(rows, 1)) + chunk(b'IEND', b'')
