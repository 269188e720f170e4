"""Serves one emulator, or prints the tasks of the installed android_world: python -m collabui_companion [tasks]."""

import argparse
import asyncio
import contextlib
import json
import logging
import signal
import sys

from aiohttp import web

from collabui_companion import tasks
from collabui_companion.companion import Companion
from collabui_companion.server import KEY
from collabui_companion.server import Keys
from collabui_companion.server import Server

EMULATOR = 'emulator @Pixel_6_API_33 -no-window -no-snapshot -no-boot-anim -memory 2048 -accel on -grpc 8554 -gpu off'


def arguments(argv=None) -> argparse.Namespace:
  parser = argparse.ArgumentParser(
      prog='collabui_companion', description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
  add = parser.add_argument
  add('command', nargs='?', choices=('serve', 'tasks'), default='serve', help='serve, or print the tasks as JSON')
  add('--host', default='127.0.0.1', help=f'address to listen on; beyond 127.0.0.1 only with a key in {KEY}')
  add('--port', type=int, default=8000, help='port to listen on; 0 takes a free port')
  add('--adb', default='/opt/android/platform-tools/adb', help='full path of adb')
  add('--emulator-command', default=EMULATOR, help='starts the emulator; if empty, it runs already and is never killed')
  add('--console-port', type=int, default=5554, help='console port of the emulator')
  add('--grpc-port', type=int, default=8554, help='gRPC port of the emulator')
  add('--boot-timeout', type=float, default=300.0, help='seconds within which Android must boot')
  add('--hang-limit', type=float, default=120.0,
      help='seconds after which a call counts as hanging and the emulator is restarted')
  add('--setup', action='store_true',
      help='install and set up the apps after the first boot (needs the internet, takes 5 to 10 minutes)')
  add('--setup-marker', default='', help='file to create after the setup')
  options = parser.parse_args(argv)
  options.keys = Keys()
  if not options.keys() and options.host not in ('127.0.0.1', '::1', 'localhost'):
    parser.error(f'{options.host} can be reached from other machines: set {KEY} or {KEY}_FILE, there and for the '
                 'workers of collabui')
  return options


async def serve(options, out) -> None:
  """Serves until SIGINT or SIGTERM. Writes the address to the file `out`."""
  runner = web.AppRunner(Server(Companion(options), options.keys).application(), access_log=None)
  await runner.setup()
  try:
    await web.TCPSite(runner, options.host, options.port).start()
    host, port = runner.addresses[0][:2]
    print(f'listening on {host}:{port}', file=out, flush=True)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
      asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()
  finally:
    await runner.cleanup()


def main() -> None:
  logging.basicConfig(level=logging.INFO, stream=sys.stderr, format='%(asctime)s %(levelname)s %(message)s')
  options, out = arguments(), sys.stdout
  with contextlib.redirect_stdout(sys.stderr):  # android_world prints to stdout.
    if options.command == 'tasks':
      print(json.dumps(tasks.listing(), indent=1), file=out)
    else:
      asyncio.run(serve(options, out))


if __name__ == '__main__':
  main()
