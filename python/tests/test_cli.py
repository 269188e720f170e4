import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from collabui_env import chromium
from collabui_env.__main__ import main
from collabui_env.load import LoadError, load

ENVIRONMENT = '''
from collabui_env import Environment, Step, Template


class One(Environment):
    def splits(self):
        return {"train": [Template("a", 2)]}

    def reset(self, task):
        return Step([], goal="wait")

    def step(self, action):
        return Step([])


class _Hidden:
    pass
'''


class CommandsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def test_the_only_environment_of_a_file_is_found(self) -> None:
        for name in ("one.py", "json.py"):
            self.assertEqual("One", type(load(self.write(name, ENVIRONMENT))()).__name__)

    def test_an_environment_is_found_by_its_name(self) -> None:
        file = self.write("two.py", ENVIRONMENT + "\n\nclass Two(One):\n    pass\n\n\ndef made():\n    return Two()\n")
        self.assertEqual("Two", type(load(file + ":Two")()).__name__)
        self.assertEqual("Two", type(load(file + ":made")()).__name__)
        for spec, want in (
            (file, f"expected one environment in {file}, found One, Two: name one"),
            (file + ":Three", "has no class, App or function 'Three'"),
            (file + "x.py", "there is no file"),
            ("no.such.module", "there is no module 'no.such.module' (a file ends in .py)"),
        ):
            with self.subTest(spec), self.assertRaises(LoadError) as caught:
                load(spec)
            self.assertIn(want, str(caught.exception))

    def fails(self, *args: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stderr(out):
            self.assertEqual(2, main(args))
        return out.getvalue()

    def test_mistakes_are_said_in_a_line(self) -> None:
        file = self.write("three.py", ENVIRONMENT.replace('"train"', '"trane"'))
        self.assertIn("error: splits() has the split 'trane', known are", self.fails("serve", file, "--port", "0"))
        self.assertIn("error: places must be at least 1, not 0", self.fails("serve", file, "--places", "0"))
        self.assertIn("set COLLABUI_ENVS_KEY", self.fails("serve", file, "--host", "0.0.0.0"))

    def test_an_environment_that_cannot_be_made_is_said_with_its_traceback(self) -> None:
        broken = "    def __init__(self):\n        raise OSError('no device')\n\n    def splits"
        file = self.write("five.py", ENVIRONMENT.replace("    def splits", broken))
        with self.assertLogs("collabui_env", "ERROR") as logs:
            self.assertIn("cannot describe itself: OSError: no device", self.fails("serve", file, "--port", "0"))
        self.assertIn("five.py", logs.output[0])

    def test_the_class_has_its_places_and_port(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        attributes = f"    places = 3\n    port = {port}\n\n    def splits"
        file = self.write("six.py", ENVIRONMENT.replace("    def splits", attributes))
        self.assertEqual(f"One at ws://127.0.0.1:{port}/ws (3 concurrent sessions)", self.first_line(file))
        self.assertRegex(
            self.first_line(file, "--port", "0", "--places", "1"), rf"(?!.*:{port}/)One at .* \(1 concurrent sessions\)$"
        )
        self.assertRegex(
            self.first_line(self.write("seven.py", ENVIRONMENT)),
            r"^One at ws://127\.0\.0\.1:[1-9]\d+/ws \(4 concurrent sessions\)$",
        )

    def test_wrong_places_and_ports_are_named(self) -> None:
        for attribute, want in (
            ("places = 0", "places is 0, expected a whole number from 1"),
            ("places = True", "places is True, expected a whole number from 1"),
            ("port = 65536", "port is 65536, expected a whole number from 0 to 65535"),
        ):
            with self.subTest(attribute):
                file = self.write("eight.py", ENVIRONMENT.replace("    def splits", f"    {attribute}\n\n    def splits"))
                self.assertIn("error: " + want, self.fails("serve", file))

    def test_check_plays_as_many_at_a_time_as_the_class_allows(self) -> None:
        program = self.write("collabui", '#!/bin/sh\necho "$@" >"$(dirname "$0")/said"\n')
        os.chmod(program, 0o755)
        file = self.write("nine.py", ENVIRONMENT.replace("    def splits", "    places = 1\n\n    def splits"))
        with mock.patch.dict(os.environ, {"COLLABUI": program}):
            self.assertEqual(0, main(["check", file]))
        self.assertIn("--tabs 1\n", (self.folder / "said").read_text())

    def test_check_needs_collabui(self) -> None:
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            os.environ.pop("COLLABUI", None)
            said = self.fails("check", self.write("a.py", ENVIRONMENT))
        self.assertIn("there is no program collabui: set COLLABUI", said)

    def test_check_passes_on_what_collabui_says(self) -> None:
        program = self.write("collabui", '#!/bin/sh\necho "$@" >"$(dirname "$0")/said"\nexit 7\n')
        os.chmod(program, 0o755)
        with mock.patch.dict(os.environ, {"COLLABUI": program}):
            self.assertEqual(7, main(["check", self.write("b.py", ENVIRONMENT), "--places", "2", "--tasks", "1"]))
        said = (self.folder / "said").read_text()
        self.assertRegex(said, r"^envs check ws://127\.0\.0\.1:\d+/ws --tabs 2 --tasks 1\n$")

    def test_serve_prints_its_address_and_ends_when_it_is_told_to(self) -> None:
        self.assertRegex(self.first_line(self.write("four.py", ENVIRONMENT)), r"^One at ws://127\.0\.0\.1:\d+/ws ")

    def first_line(self, file: str, *options: str) -> str:
        """Serves a file, ends the server, and returns what its first line says about the server."""
        command = [sys.executable, "-m", "collabui_env", "serve", file, *options]
        serving = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert serving.stdout is not None
        line = serving.stdout.readline()
        serving.send_signal(signal.SIGTERM)
        self.assertEqual(0, serving.wait(20))
        serving.stdout.close()
        says, _, advice = str(line).partition("; ")
        self.assertIn("check it with: collabui envs check ws://", advice)
        return says


class ChromiumTest(unittest.TestCase):
    def test_the_chromium_of_the_machine_is_found(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder, "google-chrome")
            program.touch(0o755)
            for environ, want in (
                ({"COLLABUI_CHROMIUM": str(program), "PATH": ""}, str(program)),
                ({"PATH": folder}, str(program)),
            ):
                with self.subTest(environ), mock.patch.dict(os.environ, environ, clear=True):
                    with mock.patch("collabui_env.browser._PROGRAMS", ("google-chrome",)):
                        self.assertEqual(want, chromium())
            for environ, why in (
                ({"COLLABUI_CHROMIUM": folder + "/none"}, "COLLABUI_CHROMIUM names .*none, which is not a program"),
                ({"PATH": ""}, "there is no Chromium: install"),
            ):
                with self.subTest(environ), mock.patch.dict(os.environ, environ, clear=True):
                    with mock.patch("collabui_env.browser._PROGRAMS", ("google-chrome",)):
                        with self.assertRaisesRegex(FileNotFoundError, why):
                            chromium()
