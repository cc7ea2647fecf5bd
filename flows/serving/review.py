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
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from cccount_dist.review.annotators import Annotators
from cccount_dist.review.app import make_app
from cccount_dist.review.bell import Bell
from cccount_dist.review.desks import Desks
from cccount_dist.review.signin import Door
from cccount_dist.taken import require_for
from flows.serving.connections import BACKLOG, MOST_HEADER_BYTES, bounded, listening
from flows.serving.logs import log_to_standard_error
from flows.serving.options import ReviewOptions
from flows.serving.sealing import Sealer
from flows.serving.supply import Supplier
from storage.errors import InputError
from storage.workspace import Workspace


def review(workspace: str, options: ReviewOptions, *, as_json: bool = False) -> None:
    """Serve the page until Ctrl-C."""
    opened, encryption = Workspace.open(workspace), _tls(options)
    require_for("review", opened)
    annotators = Annotators(opened)
    door = Door(annotators, local=_local(options, annotators, workspace))
    desks = Desks(opened, overlap=options.overlap, gold=options.gold, repeats=options.repeats)
    listener = listening(_listen(options.host, options.port))
    log_to_standard_error()
    desks.warm()
    url = f"http{'s' if encryption else ''}://{_authority(options.host, listener.getsockname()[1])}/"
    bell = Bell()
    with ExitStack() as running:
        watcher: Supplier | Sealer | Unattended = Unattended()
        if opened.is_remote and not options.advance:
            watcher = running.enter_context(Sealer(opened))
        if options.advance:
            names = [campaign.name for campaign in desks.campaigns()]
            watcher = running.enter_context(Supplier(workspace, names, arrived=bell.ring))
        _announce(url, door, desks, as_json=as_json)
        config = uvicorn.Config(
            make_app(desks, door, watcher, bell),
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=5,
            http=bounded(listener.table),
            ws="none",
            backlog=BACKLOG,
            h11_max_incomplete_event_size=MOST_HEADER_BYTES,
            **encryption,
        )
        # Ctrl-C lets the server finish what it is answering; then it is the command's, as everywhere (`commands/interrupt.py`).
        _Server(config, bell).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Lets nobody wait for questions that will not come any more, so that it ends at once."""

    def __init__(self, config: uvicorn.Config, bell: Bell) -> None:
        super().__init__(config)
        self._bell = bell

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._bell.close()
        super().handle_exit(sig, frame)


class Unattended:
    """With `--no-advance`: somebody else runs `cccount advance`."""

    def answered(self, campaign: str, count: int) -> None:
        """Nothing is to be done."""

    def at_the_desk(self, campaign: str, people: int, missing: int) -> None:
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
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise InputError(f"cannot listen on {host} port {port}: {error.strerror or error}; choose another --port") from error


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _tls(options: ReviewOptions) -> dict[str, Any]:  # keywords of uvicorn
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
