"""What stands before every request: where it comes from, how long it is, and what the browser is told to forbid.

A page of another site can make a browser send requests here. They are told from our own by `Sec-Fetch-Site` and `Origin`, which a
page cannot forge; the cookie is not sent along either. A name that merely points at this machine (DNS rebinding) is
told by `Host` while the page is open to whoever sits here.
"""

import ipaddress
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

LOG = logging.getLogger("cccount.review")
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
MOST_BYTES = 256 * 1024  # of a body: a thousand answers are less
_OWN = frozenset({"same-origin", "none"})
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


class Guard:
    """Wraps the application. `hosts`: the names under which it may be called; None for any, when everybody has to sign in."""

    def __init__(self, app: AsgiApp, *, hosts: Callable[[], frozenset[str] | None]) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no websockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        began = time.perf_counter()
        begun = False

        async def send_guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                spent = b"app;dur=%.1f" % (1000.0 * (time.perf_counter() - began))
                message["headers"] = [*message["headers"], *_HEADERS, (b"server-timing", spent)]
            await send(message)

        refusal = self._refusal(scope["method"], scope["path"], headers)
        if refusal is not None:
            await _refuse(send_guarded, *refusal)
            return
        try:
            await self.app(scope, _bounded(receive), send_guarded)
        except Exception:  # a mistake of ours: it is logged, and whoever asked is told so, once
            LOG.exception("%s %s failed", scope["method"], scope["path"][:200])
            if not begun:
                await _refuse(send_guarded, 500, "something went wrong; the server's log says what")

    def _refusal(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        hosts = self.hosts()
        if hosts is not None and not _is_here(_name(host), hosts):
            return 403, "this page answers to the name of this machine only"
        site = headers.get("sec-fetch-site", "none")
        page = method == "GET" and not path.startswith(("/api/", "/images/"))
        if not page and site not in _OWN:
            return 403, "requests of other sites are refused"
        if method in ("GET", "HEAD"):
            return None
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            return 403, "requests of other sites are refused"
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return 415, "the body must be application/json"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, f"the body is longer than {MOST_BYTES:,} bytes"
        return None


def _name(host: str) -> str:
    """
    >>> _name("localhost:8765"), _name("[::1]:8765"), _name("127.0.0.1")
    ('localhost', '::1', '127.0.0.1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _is_here(name: str, hosts: frozenset[str]) -> bool:
    """Whether a name means this machine alone: a known one, or any address of the loopback. A name that somebody made to point
    here is neither, and an address cannot be made to point elsewhere.

    >>> [_is_here(name, LOOPBACK) for name in ("localhost", "127.0.0.2", "::1", "127.0.0.1.evil.example", "192.0.2.1", "")]
    [True, True, True, False, False, False]
    """
    if name in hosts:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _bounded(receive: Receive) -> Receive:
    """A body that is sent in pieces does not say its length before: it is cut off, and then is no JSON."""
    seen = 0

    async def bounded() -> Message:
        nonlocal seen
        message = await receive()
        if message["type"] == "http.request":
            seen += len(message.get("body", b""))
            if seen > MOST_BYTES:
                return {"type": "http.request", "body": b"", "more_body": False}
        return message

    return bounded


async def _refuse(send: Send, status: int, reason: str) -> None:
    body = b'{"detail":"' + reason.encode() + b'"}'
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
