"""The right to connect: with a key, for everyone who has it; without, for this machine; never for pages of browsers."""

from __future__ import annotations

import contextlib
import hmac
import ipaddress
import os
from http import HTTPStatus

from websockets.datastructures import Headers

VARIABLE = "COLLABUI_ENVS_KEY"


class Keys:
    """The keys, separated by white space, of COLLABUI_ENVS_KEY or of the file that COLLABUI_ENVS_KEY_FILE names.

    All are accepted while one replaces another. The file is read again whenever the keys are needed; if this fails, or
    the file is empty, the old keys remain.
    """

    def __init__(self) -> None:
        self._path = os.environ.get(VARIABLE + "_FILE")
        self._keys = self._read() if self._path else os.environ.get(VARIABLE, "").split()

    def now(self) -> list[str]:
        """Returns the present keys; an empty list means that no key is required."""
        if self._path:
            with contextlib.suppress(OSError):
                self._keys = self._read() or self._keys
        return self._keys

    def _read(self) -> list[str]:
        with open(str(self._path), encoding="utf-8") as file:
            return file.read().split()


def loopback(host: str) -> bool:
    """Reports whether HOST or HOST:PORT is this machine."""
    name = host.rsplit(":", 1)[0] if host.count(":") == 1 or "]:" in host else host
    name = name.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def refuse(path: str, headers: Headers, keys: list[str]) -> tuple[HTTPStatus, str] | None:
    """Returns the reason for refusing a request, or None."""
    if headers.get("Origin") is not None or headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return HTTPStatus.FORBIDDEN, "this server answers no web page"
    if not keys and not loopback(headers.get("Host", "")):
        return HTTPStatus.MISDIRECTED_REQUEST, "this server answers only as localhost"
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    right = [k for k in keys if hmac.compare_digest(token.strip().encode(), k.encode())]
    if keys and path != "/health" and not (right and scheme.lower() == "bearer"):
        return HTTPStatus.UNAUTHORIZED, f"the key in {VARIABLE} is missing or wrong"
    return None
