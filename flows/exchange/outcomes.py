"""What files that came or went amount to."""

from collections.abc import Sequence
from dataclasses import dataclass

from cccount_dist.campaign.outcome import Outcome, optional

_MOST_LINES = 50  # that a person reads


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that cannot be used."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported(Outcome):
    """A file of questions and answers."""

    file: str
    questions: int
    answered: int
    pending: int
    config: str | None = optional()  # Label Studio's

    def words(self) -> str:
        todo = "Fill in `value` (same, different, unsure; a rating: a number from 0 to 1) and import the file."
        if self.config is not None:
            todo = f"Its labelling config is {self.config}; import what it exports as JSON."
        return f"{self.file}: {self.answered:,} answers, {self.pending:,} open questions. {todo}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read(Outcome):
    file: str
    rejected: Sequence[Rejected]

    @property
    def success(self) -> bool:
        return not self.rejected

    def lines(self) -> list[str]:
        """What is said of the rows that were refused: each of the first ones, and how many more there are."""
        told = [f"{self.file}, line {row.line}: {row.reason}" for row in self.rejected[:_MOST_LINES]]
        more = len(self.rejected) - len(told)
        return [*told, f"{more:,} more lines were refused: --json lists all of them."] if more else told


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported(_Read):
    """Answers from a file."""

    campaign: str
    answers: int
    recorded: int

    def words(self) -> str:
        read = f"{self.answers:,} answers to campaign {self.campaign} read, {self.recorded:,} of them new."
        text = f"{read} `cccount advance` takes them in." if self.answers or self.recorded else "No answer was read."
        return "\n".join([text, *self.lines()])


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldImported(_Read):
    """Gold pairs from a file."""

    read: int
    gold: int

    def words(self) -> str:
        return "\n".join([f"{self.read:,} gold pairs read, {self.gold:,} in all.", *self.lines()])


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueImported(_Read):
    """Known individuals, or pairs, from a file."""

    pictures: int  # that are new
    individuals: int  # that are known now
    pairs: int  # that are new

    def words(self) -> str:
        said = f"{self.pictures:,} new pictures; {self.individuals:,} known individuals in all; {self.pairs:,} new pairs."
        return "\n".join([f"{said} Every campaign knows it from its next step on.", *self.lines()])


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Outcome):
    """Questions and pictures in one HTML file."""

    workspace: str
    campaign: str
    file: str
    questions: int
    sheets: int
    pictures: int
    bytes: int
    note: str | None = optional()  # why it holds fewer than were wanted

    def words(self) -> str:
        size = f"{self.bytes / 1e6:,.1f} MB"
        following = f"cccount answers import {self.workspace} --file ANSWERS.json"
        one, sheet = "" if self.questions == 1 else "s", "" if self.sheets == 1 else "s"
        held = f"{self.questions:,} question{one} on {self.sheets:,} sheet{sheet}, {size}"
        fewer = f" {self.note}." if self.note else ""
        return f"{self.file}: {held}.{fewer} Its answers come back with: {following}"
