"""Small TOML files of a workspace: what a campaign was started with (frozen), and what it should reach (may grow)."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from storage.errors import CorruptionError

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class _TomlFile:
    """A frozen dataclass that is written next to the result that it made."""

    title: ClassVar[str]

    def to_toml(self) -> bytes:
        plain = {name: value for name, value in asdict(self).items() if value is not None}
        tables = {name: value for name, value in plain.items() if isinstance(value, dict)}
        lines = [f"# {self.title}", *_assignments({name: v for name, v in plain.items() if name not in tables})]
        for name, table in tables.items():
            lines += ["", f"[{name}]", *_assignments(table)]
        return ("\n".join(lines) + "\n").encode()

    @classmethod
    def from_toml(cls, data: bytes, where: str) -> Self:
        try:
            found = tomllib.loads(data.decode())
            known = {field.name for field in fields(cls)}
            return cls(**{name: value for name, value in found.items() if name in known})
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
            raise CorruptionError(f"{where} is damaged ({error}): restore it from a backup") from error


@dataclass(frozen=True, slots=True)
class Settings(_TomlFile):
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


@dataclass(frozen=True, slots=True)
class Goal(_TomlFile):
    """`goal.toml`: how far the campaign should go and who answers. A larger budget goes on from the same campaign."""

    title = "How far this campaign should go, and who answers. Written by `cccount count` and its kin."

    budget: int
    oracle: str
    error_rate: float = 0.0
    target_width: float | None = None
    pair_seconds: float = 9.0  # what a question takes a person: about 400 decisions an hour
    page_seconds: float = 30.0  # what a page of up to 24 takes

    @property
    def page_cost(self) -> float:
        """A page, in questions."""
        return self.page_seconds / self.pair_seconds


def _assignments(table: Mapping[str, Any]) -> list[str]:
    """TOML and JSON write scalars alike, except that TOML has no exponent without a digit before it.

    >>> _assignments({"seed": 7, "name": 'a "b"', "width": 0.1, "on": True})
    ['seed = 7', 'name = "a \\\\"b\\\\""', 'width = 0.1', 'on = true']
    """
    return [f"{json.dumps(key) if not key.isidentifier() else key} = {json.dumps(value)}" for key, value in table.items()]
