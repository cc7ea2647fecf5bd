"""What the server and the process that advances campaigns say to each other: one JSON object on a line."""

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Wish:
    """A step of a campaign for so many people, who lack so many sheets; or, to conclude, its results."""

    campaign: str
    people: int = 0
    missing: int = 0
    conclude: bool = False

    @classmethod
    def read(cls, line: str) -> Self:
        return cls(**json.loads(line))

    def line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a wish: so many questions were asked; or why nothing was done."""

    asked: int = 0
    more: bool = False  # the step goes on, and another line follows
    elsewhere: bool = False  # another process advances the campaign
    problem: str | None = None

    @classmethod
    def read(cls, line: str) -> Self:
        return cls(**json.loads(line))

    def line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


__all__ = ["Told", "Wish"]
