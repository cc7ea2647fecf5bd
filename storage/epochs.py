"""The epochs of a campaign: `epochs/0001.toml` and on, one small file for each time that it had to go on with a fresh sampler.

New items, other vectors or neighbours, a new revision of a method, or a replay that disagrees with the log, cannot take a
campaign away from the people who answered it: the log is kept, and from here on another sampler asks, to which all of it is
known. Files are created once and never changed.
"""

from dataclasses import dataclass
from datetime import datetime

from storage.errors import CorruptionError
from storage.settings import TomlFile, require


@dataclass(frozen=True, slots=True)
class Epoch(TomlFile):
    """Where in the log an epoch begins, and why. The first one, which has no file, begins with the campaign."""

    title = "From here on another sampler asks; everything that was answered before is known to it. Do not edit."

    number: int
    revision: int  # of the method that asks in it
    reason: str
    opened_at: str
    version: str
    questions: int = 0  # in the log when it began: the first id of this epoch
    answers: int = 0  # rows of the answer log
    rounds: int = 0
    pages: int = 0  # the first number of a page
    items: int | None = None  # that can be asked about in it; None in epochs of cccount 0.1, which took over no other inputs
    fingerprints: dict[str, str] | None = None  # of the inputs; None: those of the epoch before
    knowledge: int | None = None  # 1: its sampler is told what is known from elsewhere; None: only when it asks for it
    found: dict[str, float] | None = None  # what the campaign had come to when it began, where its kind has a use for that

    def check(self) -> None:
        for name in ("number", "revision"):
            require(getattr(self, name) >= 1, f"{name} must be 1 or more, not {getattr(self, name)}")
        for name in ("questions", "answers", "rounds", "pages"):
            require(getattr(self, name) >= 0, f"{name} must be 0 or more, not {getattr(self, name)}")
        datetime.fromisoformat(self.opened_at)


def read_epoch(data: bytes, where: str) -> Epoch:
    """Return the epoch of a file, whose name is its number; `CorruptionError` if it is not."""
    found = Epoch.from_toml(data, where)
    if f"{found.number:04d}.toml" != where.rpartition("/")[2]:
        raise CorruptionError(f"{where} is damaged (it holds epoch {found.number}): {Epoch.repair}")
    return found
