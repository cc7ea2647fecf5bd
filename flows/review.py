"""`cccount review`: serve the review page until it is interrupted.

Only this machine can reach it unless annotators have tokens. Questions are kept ready by another process (`supply.py`), never by
this one.
"""

import getpass
import ipaddress
import json
import socket
import ssl
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from cccount_dist.review.annotators import Annotators
from cccount_dist.review.app import make_app
from cccount_dist.review.desks import Desks
from cccount_dist.review.signin import Door
from flows.sealing import Sealer
from flows.supply import Supplier
from storage.errors import InputError
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """What `cccount review` was told."""

    host: str = "127.0.0.1"
    port: int = 8765
    annotator: str | None = None
    advance: bool = True
    overlap: int = 1
    gold: float = 0.03
    repeats: float = 0.02
    certificate: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InputError(f"--port must lie between 0 and 65535, not {self.port}")
        if (self.certificate is None) != (self.key is None):
            raise InputError("--certificate and --key belong together: give both, or neither")


def review(workspace: str, options: ReviewOptions, *, as_json: bool = False) -> None:
    """Serve the page until Ctrl-C."""
    opened, encryption = Workspace.open(workspace), _tls(options)
    annotators = Annotators(opened)
    door = Door(annotators, local=_local(options, annotators, workspace))
    desks = Desks(opened, overlap=options.overlap, gold=options.gold, repeats=options.repeats)
    listener = _listen(options.host, options.port)
    desks.warm()
    url = f"http{'s' if encryption else ''}://{_authority(options.host, listener.getsockname()[1])}/"
    with ExitStack() as running:
        watcher: Supplier | Sealer | Unattended = Unattended()
        if opened.is_remote and not options.advance:
            watcher = running.enter_context(Sealer(opened))
        if options.advance:
            watcher = running.enter_context(Supplier(workspace, [campaign.name for campaign in desks.campaigns()]))
        _announce(url, door, desks, as_json=as_json)
        config = uvicorn.Config(
            make_app(desks, door, watcher),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
            **encryption,
        )
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            sys.stderr.write("\nStopped. What was answered is safe.\n")


class Unattended:
    """With `--no-advance`: somebody else runs `cccount advance`."""

    def answered(self, campaign: str, count: int) -> None:
        """Nothing is to be done."""

    def ran_short(self, campaign: str) -> None:
        """Nothing is to be done."""


def _local(options: ReviewOptions, annotators: Annotators, workspace: str) -> str | None:
    """The name of who sits at this machine; None for a server that others can reach, where everybody needs a token."""
    if is_loopback(options.host):
        return options.annotator or _user()
    if not annotators.names():
        raise InputError(
            f"--host {options.host} lets others reach the page, and nobody has a token yet: "
            f"make one with `cccount annotators add {workspace} NAME`, or leave --host out"
        )
    return None


def is_loopback(host: str) -> bool:
    """
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.1.5", "example.org")]
    [True, True, True, False, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return "anonymous"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise InputError(f"cannot listen on {host} port {port}: {error.strerror or error}; choose another --port") from error


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _tls(options: ReviewOptions) -> dict[str, Any]:
    if options.certificate is None or options.key is None:
        return {}
    for file in (options.certificate, options.key):
        if not Path(file).is_file():
            raise InputError(f"there is no file {file}")
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(options.certificate, options.key)
    except (ssl.SSLError, OSError) as error:
        raise InputError(f"{options.certificate} and {options.key} are no certificate and its key: {error}") from error
    return {"ssl_certfile": options.certificate, "ssl_keyfile": options.key}


def _announce(url: str, door: Door, desks: Desks, *, as_json: bool) -> None:
    names = [campaign.name for campaign in desks.campaigns()]
    if as_json:
        sys.stdout.write(json.dumps({"url": url, "login": not door.is_open, "campaigns": names}) + "\n")
        sys.stdout.flush()
        return
    who = f"as {door.local}" if door.is_open else "with a token each"
    waiting = ", ".join(names) or "none yet; start one with `cccount count`"
    sys.stderr.write(f"Review page: {url} ({who}; Ctrl-C ends it)\nCampaigns for people: {waiting}\n")
    sys.stderr.flush()
