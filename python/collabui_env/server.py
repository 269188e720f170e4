"""The server: WebSocket sessions at /ws, and /health, /metadata and /schema."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.resources
import json
import logging
import signal
from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any

from websockets.asyncio.server import Server as Listener
from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as listen
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from collabui_env import checks, key, wire
from collabui_env.environment import Environment
from collabui_env.session import Session, Worker
from collabui_env.wire import Refusal

LONGEST_FRAME = 1 << 20  # bytes
IDLE_LIMIT = 600.0  # seconds between two frames
MOST_CONNECTIONS = 64  # in addition to those that play
BACKLOG = 1 << 14  # connections that wait to be accepted; the system may allow fewer (net.core.somaxconn)
OPEN_LIMIT = 60.0  # seconds for the handshake: all workers of a cluster may connect at once
_SCHEMA = importlib.resources.files("collabui_env") / "schema.json"

log = logging.getLogger("collabui_env")
logging.getLogger("websockets").setLevel(logging.CRITICAL)  # mistakes of clients are answered, not logged


class Server:
    """Serves environments that make returns. At most `places` of them play concurrently; by default, as many as their
    class allows."""

    def __init__(self, make: Callable[[], Environment], places: int | None = None) -> None:
        if places is not None and places < 1:
            raise ValueError(f"places must be at least 1, not {places}")
        self._make = make
        self.places = places
        self._connections = 0
        self.description: dict[str, Any] = {}

    @contextlib.asynccontextmanager
    async def listening(self, host: str = "127.0.0.1", port: int | None = 0) -> AsyncIterator[str]:
        """Serves, and yields the address of the sessions. Port 0 takes a free port, and None the port of the class."""
        self._keys = key.Keys()
        if not self._keys.now() and not key.loopback(host):
            raise ValueError(
                f"{host} can be reached from other machines without a key: "
                f"set {key.VARIABLE} (or {key.VARIABLE}_FILE), or listen on 127.0.0.1"
            )
        worker = Worker()  # an environment may require the thread in which it was made
        try:
            self.description, places, usual = await asyncio.wrap_future(worker.call(self._describe))
        finally:
            worker.end()
        self.places = self.places or places
        self._free = asyncio.Semaphore(self.places)
        async with listen(
            self._serve,
            host,
            usual if port is None else port,
            process_request=self._request,
            max_size=LONGEST_FRAME,
            compression=None,
            backlog=BACKLOG,
            open_timeout=OPEN_LIMIT,
        ) as listener:
            yield f"ws://{_address(listener)}/ws"

    def _describe(self) -> tuple[dict[str, Any], int, int]:
        """Describes the environment, and returns its places and port."""
        try:
            env = checks.environment(self._make())
            with contextlib.closing(env):
                checks.splits(env.splits())
                return wire.description(env), env.places, env.port
        except checks.ContractError:
            raise
        except Exception as e:
            log.error("the environment failed", exc_info=e)
            raise checks.ContractError(f"the environment cannot describe itself: {type(e).__name__}: {e}") from None

    def _request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answers plain HTTP requests. For a session, it returns None."""
        path = request.path.partition("?")[0]
        refused = key.refuse(path, request.headers, self._keys.now())
        if refused:
            return connection.respond(refused[0], refused[1] + "\n")
        if path == "/ws":
            return None
        d = self.description
        answers: dict[str, Callable[[], object]] = {
            "/health": lambda: {"status": "healthy"},
            "/metadata": lambda: {
                "name": d["suite"],
                "description": d["title"],
                "version": d["version"],
                "profile": wire.PROFILE,
            },
            "/schema": lambda: json.loads(_SCHEMA.read_text("utf-8")),
        }
        if path not in answers:
            return connection.respond(HTTPStatus.NOT_FOUND, "there are /ws, /health, /metadata and /schema\n")
        response = connection.respond(HTTPStatus.OK, json.dumps(answers[path]()) + "\n")
        del response.headers["Content-Type"]
        response.headers["Content-Type"] = "application/json"
        return response

    async def _serve(self, socket: ServerConnection) -> None:
        """Plays one session. It notices a lost connection while a call runs."""
        self._connections += 1
        session = Session(self._make, self.description, self._free)
        answering = asyncio.create_task(self._answer(socket, session))
        lost = asyncio.create_task(socket.wait_closed())
        try:
            await asyncio.wait({answering, lost}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._connections -= 1
            lost.cancel()
            answering.cancel()
            await session.end()  # before the socket closes, so that the place is free when the client notices

    async def _answer(self, socket: ServerConnection, session: Session) -> None:
        if self._connections > MOST_CONNECTIONS + (self.places or 0):
            full = Refusal("CAPACITY_REACHED", f"{self._connections - 1} connections are open")
            await socket.send(json.dumps(full.frame()))
            return
        with contextlib.suppress(ConnectionClosed, asyncio.TimeoutError):
            while True:
                raw = await asyncio.wait_for(socket.recv(), IDLE_LIMIT)
                code = ""
                try:
                    answer = await session.answer(raw)
                except Refusal as e:
                    answer, code = e.frame(), e.code
                except Exception as e:
                    log.exception("a frame failed")
                    answer = Refusal("EXECUTION_ERROR", f"{type(e).__name__}: {e}").frame()
                if answer is None:
                    return
                await socket.send(json.dumps(answer))
                if code == "CAPACITY_REACHED":
                    return


def _address(listener: Listener) -> str:
    host, port = next(iter(listener.sockets)).getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def until_told(make: Callable[[], Environment], host: str, port: int | None, places: int | None) -> None:
    """Serves until SIGINT or SIGTERM."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, told.set)
    server = Server(make, places)
    async with server.listening(host, port) as address:
        print(
            f"{server.description['title']} at {address} ({server.places} concurrent sessions); "
            f"check it with: collabui envs check {address}",
            flush=True,
        )
        await told.wait()


def serve(
    make: Callable[[], Environment], host: str = "127.0.0.1", port: int | None = None, places: int | None = None
) -> None:
    """Serves an environment, such as the class or the App, until SIGINT or SIGTERM. Its class has the usual port and
    places."""
    asyncio.run(until_told(make, host, port, places))
