"""Who is asking: a token in a cookie that scripts cannot read, or whoever sits at this machine when there are no tokens.

The cookie holds the annotator's own token, so a restarted server knows everybody again and a removed annotator is out at once.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from fastapi import HTTPException, Request

from cccount_dist.review.annotators import Annotators
from cccount_dist.review.guard import LOOPBACK
from cccount_dist.review.pace import too_fast

COOKIE = "cccount_token"
COOKIE_SECONDS = 30 * 24 * 3600
_WINDOW = 60.0  # seconds
_MOST_FAILURES = 5  # of one address within the window …
_MOST_IN_ALL = 50  # … and of all addresses together: an address is easily changed
_MOST_ADDRESSES = 1000


@dataclass
class Attempts:
    """Counts wrong tokens. They cannot be guessed; this keeps the log and the processor free of those who try.

    A right token is never counted and never waits: so nobody can keep others out, whatever address they claim to have.
    """

    clock: Callable[[], float] = time.monotonic
    _failures: list[tuple[float, str]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def failed(self, address: str) -> float:
        """Count a wrong token, and return the seconds that whoever sent it should wait; 0 for one of the first few."""
        with self._lock:
            now = self.clock()
            self._failures = [(at, who) for at, who in self._failures if at > now - _WINDOW][-_MOST_ADDRESSES:]
            self._failures.append((now, address))
            mine = [at for at, who in self._failures if who == address]
            if len(mine) > _MOST_FAILURES:
                return mine[-_MOST_FAILURES] + _WINDOW - now
            if len(self._failures) > _MOST_IN_ALL:
                return self._failures[-_MOST_IN_ALL][0] + _WINDOW - now
            return 0.0


def address_of(request: Request) -> str:
    return request.client.host if request.client else ""


class Door:
    """Tells who a request is from. `local` is the person at this machine, who needs no token while there are none."""

    def __init__(self, annotators: Annotators, *, local: str | None) -> None:
        self.annotators = annotators
        self.local = local
        self.attempts = Attempts()
        self._was_open = self.is_open

    @property
    def is_open(self) -> bool:
        """Whether no token is needed: only for a server that nobody else can reach, and only until there are tokens."""
        return self.local is not None and not self.annotators.names()

    @property
    def hosts(self) -> frozenset[str] | None:
        """The names under which the server may be called, as of the last request; None for any. Reads nothing."""
        return LOOPBACK if self._was_open else None

    def refusal(self, address: str, reason: str) -> HTTPException:
        """What to tell whoever came with a wrong token: to wait, after some of them."""
        if (wait := self.attempts.failed(address)) > 0.0:
            return too_fast("attempts", wait)
        return HTTPException(401, reason)

    def somebody(self, request: Request) -> str:
        """Return who a request is from; whoever has not signed in is refused."""
        name = self.who(request.cookies.get(COOKIE))
        if name is None and COOKIE in request.cookies:
            raise self.refusal(address_of(request), "sign in first")
        if name is None:
            raise HTTPException(401, "sign in first")
        return name

    def may_decide(self, name: str) -> bool:
        """Whether somebody decides contradictions: a lead, or whoever sits at this machine alone."""
        return self.is_open or self.annotators.is_lead(name)

    def who(self, token: str | None) -> str | None:
        was_open, self._was_open = self._was_open, self.is_open
        if self._was_open:
            # The first request after the last token is gone was not checked for its host: it is nobody's.
            return self.local if was_open else None
        return None if not token else self.annotators.who(token)
