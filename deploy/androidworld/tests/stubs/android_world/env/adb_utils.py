"""Stub of the adb helpers: all of them call env.execute_adb_call, as the real helpers do."""

from typing import Collection, Optional

ACTIVITIES = {
    'contacts': 'com.stub.contacts/.Main', 'settings': 'com.stub.settings/.Main', 'clipper': 'ca.zgrs.clipper/.Main',
    'miniwob': 'com.google.androidenv.miniwob/.Main',
}


def issue_generic_request(args: Collection[str] | str, env, timeout_sec: Optional[float] = 10):
  del timeout_sec
  return env.execute_adb_call(args.split(' ') if isinstance(args, str) else list(args))


def tap_screen(x: int, y: int, env, timeout_sec: Optional[float] = 10):
  return issue_generic_request(['shell', 'input', 'tap', str(x), str(y)], env, timeout_sec)


def press_home_button(env, timeout_sec: Optional[float] = 10):
  return issue_generic_request(['shell', 'input', 'keyevent', 'KEYCODE_HOME'], env, timeout_sec)


def press_back_button(env, timeout_sec: Optional[float] = 10):
  return issue_generic_request(['shell', 'input', 'keyevent', 'KEYCODE_BACK'], env, timeout_sec)


def press_enter_button(env, timeout_sec: Optional[float] = 10):
  return issue_generic_request(['shell', 'input', 'keyevent', 'KEYCODE_ENTER'], env, timeout_sec)


def type_text(text: str, env, timeout_sec: Optional[float] = 10) -> None:
  text.encode('ascii')  # the real helper loses everything else
  issue_generic_request(['shell', 'input', 'text', text], env, timeout_sec)


def generate_swipe_command(start_x: int, start_y: int, end_x: int, end_y: int, duration_ms: Optional[int] = None) -> list[str]:
  return ['shell', 'input', 'swipe', *(str(v) for v in (start_x, start_y, end_x, end_y, duration_ms) if v is not None)]


def get_adb_activity(app_name: str) -> Optional[str]:
  return ACTIVITIES.get(app_name)


def extract_package_name(activity: str) -> str:
  return activity.split('/', maxsplit=1)[0]


def launch_app(app_name: str, env) -> Optional[str]:
  issue_generic_request(['shell', 'am', 'start', app_name], env)
  return app_name


def send_android_intent(command: str, action: str, env, data_uri=None, mime_type=None, extras=None, timeout_sec: int = 10):
  del data_uri, mime_type, extras
  return issue_generic_request(['shell', 'am', command, '-a', action], env, timeout_sec)


def extract_broadcast_data(raw_output: str) -> Optional[str]:
  if 'result=0' in raw_output:
    return None
  if 'data=' not in raw_output:
    raise ValueError(f'Unexpected broadcast output: {raw_output}')
  return raw_output.split('data=')[1].strip('"\r\n')
