import asyncio
import importlib.util
import json
import os
import socket
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from typing import Any
from unittest import mock

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from collabui_env import session
from collabui_env.server import Server
from tests.support import Client, Lights, ServerTest, lights_app


async def play(client: Client) -> list[Any]:
    """Plays an episode by the expert's actions, with one mistake at its beginning."""
    seen = [await client.ask("reset", task="two", split="test-templates", seed=11, right=True)]
    seen.append(await client.ask("step", action_type="navigate_home"))
    while not seen[-1]["done"]:
        seen.append(await client.ask("step", **seen[-1]["observation"]["right"][0]))
    return seen


class EpisodesTest(ServerTest):
    async def test_an_episode_by_the_expert(self) -> None:
        seen = await play(await self.client(await self.serve()))
        last = seen[-1]["observation"]
        self.assertEqual([5, True, 1.0], [len(seen), last["success"], seen[-1]["reward"]])
        mistake = {"code": "INVALID_ACTION", "message": "navigate_home does nothing here"}
        self.assertEqual(mistake, seen[1]["observation"]["last_action_error"])
        self.assertNotIn("right", last)
        self.assertEqual({"w": 50, "h": 10}, last["screen"])
        self.assertEqual({"raw": 1.0}, last["info"])

    async def test_functions_and_a_class_make_the_same_environment(self) -> None:
        seen = []
        for make in (Lights, lights_app()):
            client = await self.client(await self.serve(make))
            seen.append([await client.ask("state"), await play(client)])
        self.assertEqual(seen[0], seen[1])

    async def test_what_helps_is_computed_only_when_it_is_asked_for(self) -> None:
        client = await self.client(await self.serve())
        with mock.patch.object(Lights, "judge", side_effect=AssertionError("asked")):
            got = await client.ask("reset", task="one", split="train", seed=1)
            got = await client.ask("step", action_type="wait")
        self.assertNotIn("right", got["observation"])

    async def test_the_budget_ends_an_episode_and_mistakes_count(self) -> None:
        client = await self.client(await self.serve())
        await client.ask("reset", task="one", max_steps=3)
        done = []
        for kind in ("wait", "navigate_home", "wait"):
            got = await client.ask("step", action_type=kind)
            done.append((got["done"], got["observation"]["truncated"]))
        self.assertEqual([(False, False), (False, False), (True, True)], done)
        self.assertEqual([0.0, False], [got["observation"]["score"], got["observation"]["success"]])
        self.assertEqual("SESSION_ERROR", await client.code("step", action_type="wait"))

    async def test_the_description(self) -> None:
        got = await (await self.client(await self.serve())).ask("state")
        self.assertEqual(["replayable", "expert", "judge", "screenshot"], got["capabilities"])
        self.assertEqual({"name": "one", "group": "lights", "split": "train", "max_steps": 4}, got["tasks"][2])
        keys = ("profile", "suite", "family", "version", "step_count")
        self.assertEqual(["collabui/1", "Lights", "mobile", "3", 0], [got[k] for k in keys])

    async def test_a_screenshot(self) -> None:
        client = await self.client(await self.serve())
        self.assertEqual("SESSION_ERROR", await client.code("state", image="png"))
        await client.ask("reset", task="one")
        self.assertEqual("image/png", (await client.ask("state", image="png"))["image"]["mime"])

    async def test_what_a_client_does_wrong_is_named(self) -> None:
        client = await self.client(await self.serve())
        await client.ask("reset", task="one")
        for raw, code, want in (
            ("{", "INVALID_JSON", "expected a text frame with a JSON object"),
            (b"{}", "INVALID_JSON", "expected a text frame"),
            ("[" * 100_000, "INVALID_JSON", "recursion"),
            ("[]", "VALIDATION_ERROR", "expected a JSON object"),
            ('{"type":"fly"}', "UNKNOWN_TYPE", "unknown type 'fly'; known are reset, step, state, close"),
            ('{"type":"state","more":1}', "VALIDATION_ERROR", "unknown key more"),
            ('{"type":"state","data":{"right":true}}', "VALIDATION_ERROR", '"image": "png"'),
            ('{"type":"reset","data":{"sead":1}}', "VALIDATION_ERROR", "unknown key sead; known are task, split"),
            ('{"type":"reset","data":{"seed":-1}}', "VALIDATION_ERROR", "seed must be a whole number from 0"),
            ('{"type":"reset","data":{"seed":"1"}}', "VALIDATION_ERROR", "seed must be a whole number from 0"),
            ('{"type":"reset","data":{"max_steps":-2}}', "VALIDATION_ERROR", "max_steps must be at least 1, not -2"),
            ('{"type":"reset","data":{"task":"none"}}', "UNKNOWN_TASK", "no task 'none' in split ''"),
            ('{"type":"reset","data":{"task":"two","split":"val"}}', "UNKNOWN_TASK", "no task 'two' in split 'val'"),
            ('{"type":"step","data":{"action_type":"click"}}', "VALIDATION_ERROR", 'action "click" lacks index'),
        ):
            with self.subTest(raw[:40]):
                await client.socket.send(raw)
                got = json.loads(await client.socket.recv())["data"]
                self.assertEqual(code, got["code"])
                self.assertIn(want, got["message"])
        self.assertEqual("", await client.code("step", action_type="wait"), "the episode goes on")
        with self.assertRaises(ConnectionClosed):
            await client.ask("reset", task="x" * (1 << 20))

    async def test_a_closed_session_has_torn_down(self) -> None:
        client = await self.client(await self.serve())
        await client.ask("reset", task="one")
        await client.socket.send('{"type":"close"}')
        await client.socket.wait_closed()
        self.assertEqual(1, Lights.made[-1].closed)


class FailuresTest(ServerTest):
    async def test_an_exception_voids_the_episode_and_the_next_environment_is_new(self) -> None:
        client = await self.client(await self.serve())
        for template, want in (
            ("raise", "OSError: the lamp is broken"),
            ("exit", "RuntimeError: SystemExit: 3"),
            ("stop", "RuntimeError: StopIteration"),
            ("wrong", "step() returned elements[1] with index 3 after index 4"),
        ):
            with self.subTest(template), self.assertLogs("collabui_env", "ERROR") as logs:
                await client.ask("reset", task=template)
                env = Lights.made[-1]
                got = await client.ask("step", action_type="click", index=1)
                self.assertEqual("EXECUTION_ERROR", got["code"])
                self.assertIn(want, got["message"])
                self.assertLessEqual(len(got["message"]), 500)
                self.assertIn("Traceback", logs.output[0])
                self.assertEqual(1, env.closed)
                self.assertEqual("SESSION_ERROR", await client.code("step", action_type="wait"))
                self.assertEqual("", await client.code("reset", task="one"))
                self.assertIsNot(env, Lights.made[-1])

    async def test_a_task_at_fault_is_unknown(self) -> None:
        client = await self.client(await self.serve())
        with self.assertLogs("collabui_env", "ERROR"):
            got = await client.ask("reset", task="task")
        self.assertEqual(["UNKNOWN_TASK", "TaskError: nobody can do this"], [got["code"], got["message"]])

    async def test_no_more_sessions_play_than_there_are_places(self) -> None:
        address = await self.serve(places=2)
        clients = [await self.client(address) for _ in range(3)]
        for client in clients[:2]:
            await client.ask("reset", task="one")
        with mock.patch.object(session, "OPEN_LIMIT", 0.05):
            self.assertEqual("", await clients[2].code("state"), "a description needs no place")
            self.assertEqual("CAPACITY_REACHED", await clients[2].code("reset", task="one"))
        await asyncio.wait_for(clients[2].socket.wait_closed(), 5)

        waiting = await self.client(address)
        reset = asyncio.create_task(waiting.code("reset", task="one"))
        self.assertFalse((await asyncio.wait({reset}, timeout=0.1))[0], "it waits for a place")
        await clients[0].socket.close()
        self.assertEqual("", await asyncio.wait_for(reset, 20))

    async def test_connections_wait_while_the_server_is_busy(self) -> None:
        address = urllib.parse.urlsplit(await self.serve())
        clients = []
        for _ in range(500):  # the server accepts nothing meanwhile, because this is its thread
            client = socket.socket()
            self.addCleanup(client.close)
            client.settimeout(0.5)
            client.connect((address.hostname, address.port))
            clients.append(client)
        self.assertEqual(500, len(clients))

    async def test_a_lost_connection_frees_its_place(self) -> None:
        address = await self.serve(places=1)
        client = await self.client(address)
        await client.ask("reset", task="one")
        env = Lights.made[-1]
        client.socket.transport.abort()  # as when a worker dies
        self.assertEqual("", await (await self.client(address)).code("reset", task="one"))
        self.assertEqual(1, env.closed)

    async def test_pings_and_health_are_answered_while_a_step_hangs(self) -> None:
        address = await self.serve(places=1)
        client = await self.client(address)
        await client.ask("reset", task="hang")
        step = asyncio.create_task(client.ask("step", action_type="wait"))
        await asyncio.to_thread(Lights.made[-1].hangs.wait, 20)
        began = time.monotonic()
        await (await client.socket.ping())
        self.assertEqual(b'{"status": "healthy"}\n', await asyncio.to_thread(get, address, "/health"))
        self.assertLess(time.monotonic() - began, 2)
        Lights.made[-1].hang.set()
        self.assertFalse((await asyncio.wait_for(step, 5))["done"])

    async def test_a_step_that_hangs_keeps_its_place_until_it_returns(self) -> None:
        address = await self.serve(places=1)
        client = await self.client(address)
        await client.ask("reset", task="hang")
        await client.socket.send('{"type":"step","data":{"action_type":"wait"}}')
        env = Lights.made[-1]
        await asyncio.to_thread(env.hangs.wait, 20)
        with mock.patch.object(session, "CLOSE_LIMIT", 0.05), mock.patch.object(session, "OPEN_LIMIT", 0.2):
            with self.assertLogs("collabui_env", "WARNING") as logs:
                client.socket.transport.abort()
                self.assertEqual("CAPACITY_REACHED", await (await self.client(address)).code("reset", task="one"))
            self.assertIn("its place is taken", logs.output[0])
        env.hang.set()
        self.assertEqual("", await (await self.client(address)).code("reset", task="one"))
        self.assertEqual(1, env.closed)

    async def test_the_server_ends_while_a_step_hangs(self) -> None:
        with mock.patch.object(session, "CLOSE_LIMIT", 0.05):
            async with Server(Lights, 1).listening() as address:
                client = Client(await connect(address))
                await client.ask("reset", task="hang")
                await client.socket.send('{"type":"step","data":{"action_type":"wait"}}')
                await asyncio.to_thread(Lights.made[-1].hangs.wait, 20)
                began = time.monotonic()
            self.assertLess(time.monotonic() - began, 5)
        Lights.made[-1].hang.set()


@unittest.skipUnless(importlib.util.find_spec("openenv"), "the client of openenv is not installed")
class PublishedClientTest(ServerTest):
    async def test_it_plays_an_episode(self) -> None:
        address = await self.serve()
        published: Any = importlib.import_module("openenv.core")
        async with published.GenericEnvClient(base_url=address.removesuffix("/ws")) as env:
            self.assertEqual("collabui/1", (await env.state())["profile"])
            self.assertNotIn("right", (await env.reset(task="one", seed=5, episode_id="e")).observation)
            got = await env.reset(task="one", split="val", seed=5, right=True)
            while not got.done:
                got = await env.step(got.observation["right"][0])
            self.assertEqual([True, 1.0], [got.observation["success"], got.reward])


def get(address: str, path: str, **headers: str) -> bytes:
    url = address.replace("ws://", "http://").replace("/ws", path)
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        body: bytes = answer.read()
        return body


class DoorTest(ServerTest):
    async def status(self, address: str, path: str, **headers: str) -> int:
        try:
            await asyncio.to_thread(get, address, path, **headers)
        except urllib.error.HTTPError as e:
            e.close()
            return e.code
        return 200

    async def test_the_server_describes_itself_over_http(self) -> None:
        address = await self.serve()
        about = json.loads(await asyncio.to_thread(get, address, "/metadata"))
        want = {"name": "Lights", "description": "Lights of a test", "version": "3", "profile": "collabui/1"}
        self.assertEqual(want, about)
        self.assertIn("action", json.loads(await asyncio.to_thread(get, address, "/schema")))
        self.assertEqual(404, await self.status(address, "/reset"))

    async def test_pages_of_web_browsers_are_refused(self) -> None:
        address = await self.serve()
        for status, headers in (
            (200, {"Host": "localhost:8000"}),
            (200, {"Host": "[::1]:8000"}),
            (421, {"Host": "evil.example"}),
            (421, {"Host": "127.0.0.1.evil.example:80"}),
            (403, {"Origin": "http://evil.example"}),
            (403, {"Origin": "null"}),
            (403, {"Sec-Fetch-Site": "cross-site"}),
        ):
            with self.subTest(headers):
                self.assertEqual(status, await self.status(address, "/metadata", **headers))
        with self.assertRaises(InvalidStatus):
            await self.client(address, origin="http://evil.example")

    async def test_a_key_is_asked_of_all_but_health(self) -> None:
        with mock.patch.dict(os.environ, {"COLLABUI_ENVS_KEY": "canary"}):
            address = await self.serve()
        right = {"Authorization": "Bearer canary"}
        self.assertEqual(200, await self.status(address, "/health"))
        self.assertEqual(401, await self.status(address, "/metadata"))
        self.assertEqual(401, await self.status(address, "/metadata", Authorization="Bearer canar"))
        self.assertEqual(200, await self.status(address, "/metadata", Host="gpu-1.example", **right))
        with self.assertRaises(InvalidStatus):
            await self.client(address)
        self.assertEqual("", await (await self.client(address, additional_headers=right)).code("state"))

    async def test_a_key_in_a_file_may_change(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "key")

            def says(text: str) -> None:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)

            says("old\n")
            with mock.patch.dict(os.environ, {"COLLABUI_ENVS_KEY_FILE": path}):
                address = await self.serve()
            for text, old, new in (("old\n", 200, 401), ("old\nnew\n", 200, 200), ("new\n", 401, 200), ("", 401, 200)):
                says(text)
                for name, want in (("old", old), ("new", new)):
                    with self.subTest(text=text, key=name):
                        self.assertEqual(want, await self.status(address, "/metadata", Authorization=f"Bearer {name}"))
            os.remove(path)
            self.assertEqual(200, await self.status(address, "/metadata", Authorization="Bearer new"))

    async def test_other_machines_need_a_key(self) -> None:
        with mock.patch.dict(os.environ, clear=True), self.assertRaisesRegex(ValueError, "set COLLABUI_ENVS_KEY"):
            async with Server(Lights).listening("0.0.0.0"):
                pass
