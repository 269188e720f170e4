"""The command line: python -m collabui_env serve|check FILE_OR_MODULE[:NAME]."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Sequence

from collabui_env.checks import ContractError
from collabui_env.environment import Environment
from collabui_env.load import LoadError, load
from collabui_env.server import Server, until_told

SPEC = "a file or module, and the name of a class, App or function in it if there are several"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m collabui_env", description="Serve or check an environment.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="serve an environment until it is told to end")
    serve.add_argument("--host", default="127.0.0.1", help="beyond this machine only with a key in COLLABUI_ENVS_KEY")
    serve.add_argument("--port", type=int, help="by default the class's port; 0 takes a free port")
    check = commands.add_parser(
        "check",
        help="play a task of every template with `collabui envs check`",
        epilog="Other options, such as --tasks 1 or --json, are passed on to it.",
    )
    for command in (serve, check):
        command.add_argument("environment", metavar="FILE_OR_MODULE[:NAME]", help=SPEC)
        command.add_argument("--places", type=int, help="episodes at a time (by default the class's places)")
    options, rest = parser.parse_known_args(argv)
    if rest and options.command != "check":
        parser.error(f"unknown option {rest[0]}")

    try:
        make = load(options.environment)
    except LoadError as e:
        print(f"error: {e}", file=sys.stderr)
        return 2
    try:
        if options.command == "serve":
            asyncio.run(until_told(make, options.host, options.port, options.places))
            return 0
        return asyncio.run(_check(make, options.places, rest))
    except (LoadError, ContractError, ValueError, OSError) as e:
        print(f"error: {e}", file=sys.stderr)
        return 2


async def _check(make: Callable[[], Environment], places: int | None, rest: Sequence[str]) -> int:
    """Serves the environment on a free port while collabui checks it."""
    program = os.environ.get("COLLABUI") or "collabui"
    path = shutil.which(program)
    if path is None:
        raise LoadError(
            f"there is no program {program}: set COLLABUI to the path of collabui (`make build` makes bin/collabui)"
        )
    server = Server(make, places)
    async with server.listening() as address:
        at_once = ("--tabs", str(server.places))
        checking = await asyncio.create_subprocess_exec(path, "envs", "check", address, *at_once, *rest)
        try:
            return await checking.wait()
        finally:
            if checking.returncode is None:
                checking.terminate()


if __name__ == "__main__":
    sys.exit(main())
