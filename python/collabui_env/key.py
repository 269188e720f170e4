"""Who may connect: with a key everyone who has it, without one only this machine, and never a page of a web browser."""

from __future__ import annotations

import hmac
import ipaddress
import os
from http import HTTPStatus

from websockets.datastructures import Headers

VARIABLE = "COLLABUI_ENVS_KEY"


def key() -> str:
    """The key, from COLLABUI_ENVS_KEY or from the file that COLLABUI_ENVS_KEY_FILE names; empty if there is none."""
    path = os.environ.get(VARIABLE + "_FILE")
    if not path:
        return os.environ.get(VARIABLE, "")
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def loopback(host: str) -> bool:
    """Whether HOST or HOST:PORT is this machine."""
    name = host.rsplit(":", 1)[0] if host.count(":") == 1 or "]:" in host else host
    name = name.strip("[]").lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def refuse(path: str, headers: Headers, key: str) -> tuple[HTTPStatus, str] | None:
    """Why a request is refused, or None."""
    if headers.get("Origin") is not None or headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return HTTPStatus.FORBIDDEN, "this server answers no web page"
    if not key and not loopback(headers.get("Host", "")):
        return HTTPStatus.MISDIRECTED_REQUEST, "this server answers only as localhost"
    scheme, _, token = headers.get("Authorization", "").partition(" ")
    right = scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), key.encode())
    if key and path != "/health" and not right:
        return HTTPStatus.UNAUTHORIZED, f"the key in {VARIABLE} is missing or wrong"
    return None
