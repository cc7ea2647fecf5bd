"""Small TOML files of a workspace: what a campaign was started with (frozen), and what it should reach (may grow)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, ClassVar, Self

from storage import formats
from storage.errors import CorruptionError
from storage.reading import known_errors, reason
from storage.stamp import BLANK, filled
from storage.toml import load_toml
from storage.typed import made
from storage.version import __version__

ORACLES = ("people", "labels", "similarity")  # who may answer; which of them, a kind of campaign says
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A frozen dataclass that is written next to the result that it made."""

    title: ClassVar[str]
    repair: ClassVar[str] = "restore it from a backup"

    def check(self) -> None:
        """Raise `ValueError` for a value that no version has written, whatever its type."""

    def to_toml(self) -> bytes:
        plain = {name: value for name, value in asdict(self).items() if value is not None}
        tables = {name: value for name, value in plain.items() if isinstance(value, dict)}
        said = {"format": formats.CAMPAIGN.present, "cccount": __version__}  # of this file; `version` is the campaign's
        values = {name: value for name, value in plain.items() if name not in tables}
        lines = [f"# {self.title}", f"# {BLANK}", *_assignments({**said, **values})]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *_assignments(table)]
        return filled(("\n".join(lines) + "\n").encode())

    @classmethod
    def from_toml(cls, data: bytes, where: str) -> Self:
        """Return what a file says, checked by type and value; `CorruptionError` with the name that is wrong."""
        try:
            found = load_toml(data)
            formats.CAMPAIGN.check(found.get("format", 1), where, found.get("cccount", found.get("version")))
            read = made(cls, found)
            read.check()
        except known_errors() as error:
            raise CorruptionError(f"{where} is damaged ({reason(error)}): {cls.repair}") from error
        return read


@dataclass(frozen=True, slots=True)
class Settings(TomlFile):
    """`campaign.toml`: everything that decides which questions a campaign asks. Never changed after the start."""

    title = "What this campaign was started with. Do not edit: its questions follow from it."

    kind: str
    method: str
    seed: int
    level: float
    metric: str
    items: int
    started_at: str
    version: str
    parameters: dict[str, Scalar]
    fingerprints: dict[str, str]
    overlap: int | None = None  # people who answer each question; None: one
    revision: int | None = None  # of the method; None: the first
    preset: str | None = None  # the method's preset that the parameters were made from, for people
    knowledge: int | None = None  # 1: the sampler is told what is known from elsewhere; None: only when it asks for it

    def check(self) -> None:
        for name in ("kind", "method", "metric"):
            require(getattr(self, name), f"{name} must be a word")
        require(0 <= self.seed < 2**63, f"seed must be 0 or more, not {self.seed}")
        require(0.0 < self.level < 1.0, f"level must lie between 0 and 1, not {self.level}")
        require(self.items >= 1, f"items must be 1 or more, not {self.items}")
        require(self.overlap is None or self.overlap >= 1, f"overlap must be 1 or more, not {self.overlap}")
        require(self.revision is None or self.revision >= 1, f"revision must be 1 or more, not {self.revision}")
        datetime.fromisoformat(self.started_at)


@dataclass(frozen=True, slots=True)
class Goal(TomlFile):
    """`goal.toml`: how far the campaign should go and who answers. A larger budget goes on from the same campaign."""

    title = "How far this campaign should go, and who answers. Written by `cccount count`, `cluster` or `subcluster`."
    repair = "restore it from a backup, or give the goal again with the command that started the campaign"

    budget: int
    oracle: str
    error_rate: float = 0.0
    target_width: float | None = None
    target_quality: float | None = None  # share of the items in the right group
    pair_seconds: float = 9.0  # what a question takes a person: about 400 decisions an hour
    page_seconds: float = 30.0  # what a page of up to 24 takes
    noun: str | None = None  # what is counted, in the user's word: it changes words, never questions
    question: str | None = None  # what people are asked about a pair, in the user's words

    def check(self) -> None:
        require(self.budget >= 0, f"budget must be 0 or more, not {self.budget}")
        require(self.oracle in ORACLES, f"oracle must be {', '.join(ORACLES[:-1])} or {ORACLES[-1]}, not {self.oracle!r}")
        require(0.0 <= self.error_rate <= 1.0, f"error_rate must lie between 0 and 1, not {self.error_rate}")
        width = self.target_width
        require(width is None or width > 0.0, f"target_width must be more than 0, not {width}")
        share = self.target_quality
        require(share is None or 0.0 < share < 1.0, f"target_quality must lie between 0 and 1, not {share}")
        for name in ("pair_seconds", "page_seconds"):
            require(getattr(self, name) > 0.0, f"{name} must be more than 0, not {getattr(self, name)}")

    @property
    def page_cost(self) -> float:
        """A page, in questions."""
        return self.page_seconds / self.pair_seconds


def require(holds: object, otherwise: str) -> None:
    """Raise `ValueError` unless it holds."""
    if not holds:
        raise ValueError(otherwise)


def _assignments(table: Mapping[str, Any]) -> list[str]:
    """TOML and JSON write scalars alike, except that TOML has no exponent without a digit before it.

    >>> _assignments({"seed": 7, "name": 'a "b"', "width": 0.1, "on": True})
    ['seed = 7', 'name = "a \\\\"b\\\\""', 'width = 0.1', 'on = true']
    """
    return [f"{json.dumps(key) if not key.isidentifier() else key} = {json.dumps(value)}" for key, value in table.items()]
