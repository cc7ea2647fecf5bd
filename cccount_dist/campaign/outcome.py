"""Results as typed objects that know their JSON and their words: what every command and flow returns.

`json()` is what `--json` prints; a field that is declared as `optional()` is left out while nothing is known.
"""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

from cccount_dist.campaign.sidewords import SideFigures

OPTIONAL = "left out while it is None"
UNTOLD = "not in the JSON"


def optional() -> Any:
    """Declare a field that stands in the JSON only where something is known."""
    return field(default=None, metadata={OPTIONAL: True})


def for_words() -> Any:
    """Declare a field that only `words()` reads: a program that asks knows it already."""
    return field(default=None, metadata={UNTOLD: True})


@dataclass(frozen=True, slots=True)
class Outcome(ABC):
    """What came of a command or a stage."""

    @abstractmethod
    def words(self) -> str:
        """What a person is told, in a few lines."""

    def json(self) -> dict[str, object]:
        """The same for a program."""
        return plain_fields(self)

    @property
    def success(self) -> bool:
        """Whether everything went well: otherwise a command ends with exit code 1, after saying this."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOutcome(Outcome):
    """What every kind of campaign says about itself after a step."""

    campaign: str  # its name
    method: str  # that chooses the questions
    questions: int  # answers that were given, one by one
    inferred: int  # answers that followed from others, so that nobody was asked
    state: str  # running, waiting (for people), done or stopped (the budget is used)
    pending: int  # questions that are open now
    contradictions: int  # answers that contradict others

    shown: ClassVar[tuple[str, ...]] = ("method", "state", "questions", "inferred", "pending", "contradictions")

    carried: int | None = optional()  # what people said in other campaigns, where there is something
    workspace: str | None = for_words()  # where it lies, for the command that comes next
    noun: str | None = optional()  # what is counted, in the user's word
    epoch: str | None = optional()  # since when another sampler asks, and why
    sides_found: SideFigures | None = for_words()  # noqa: RUF009 (a field)

    def json(self) -> dict[str, object]:
        found = plain_fields(self)
        return found if self.sides_found is None else found | {"sides": self.sides_found.json()}

    @property
    def standing(self) -> list[str]:
        """The lines that every kind says after its result: since when another sampler asks, and what waits for people."""
        changed = [] if self.epoch is None else [f"{self.epoch[:1].upper()}{self.epoch[1:]}. All answers before it are known."]
        return [*changed, *self.waiting]

    @property
    def waiting(self) -> list[str]:
        """The lines about questions that wait for people, and where people answer; nothing where there are none."""
        if self.state != "waiting":
            return []
        wait = "1 question waits" if self.pending == 1 else f"{self.pending:,} questions wait"
        return [f"{wait} for people. Next: {review_command(self.workspace)}"]


def review_command(workspace: str | None) -> str:
    """The command that opens the page on which people answer.

    >>> review_command("my photos"), review_command(None)
    ("cccount review 'my photos'", 'cccount review WORKSPACE')
    """
    return f"cccount review {'WORKSPACE' if workspace is None else shlex.quote(workspace)}"


def plain_fields(thing: Any) -> dict[str, object]:
    """The fields of a dataclass as plain JSON."""
    known: Sequence[Field[object]] = [one for one in fields(thing) if UNTOLD not in one.metadata]
    values = {one: getattr(thing, one.name) for one in known}
    return {one.name: plain(value) for one, value in values.items() if not (value is None and OPTIONAL in one.metadata)}


def plain(value: object) -> object:
    if is_dataclass(value):
        return plain_fields(value)
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
