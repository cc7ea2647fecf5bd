"""Whose question a row answers: every file that leaves says workspace, campaign and pair, and on the way back they are compared.

A row that disagrees would be an answer to another pair: it is refused, with what is right. A file that is older than these
columns is checked as far as it has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cccount_dist.sampling.types import Question
from flows.exchange.cells import shortened, text, whole
from storage.collection import Collection
from storage.errors import InputError
from storage.workspace import Workspace

COLUMNS = ("workspace", "campaign", "u", "v", "id_u", "id_v")
_PAIR = COLUMNS[2:]


@dataclass(frozen=True)
class Origin:
    """Workspace and campaign of a file."""

    workspace: Workspace
    campaign: str

    @cached_property
    def collection(self) -> Collection:
        """Read when it is first needed: rows without the names of items need none."""
        return self.workspace.collection()

    def told(self, question: Question) -> dict[str, str | int]:
        """What a row, or the data of a task, says of where its question comes from."""
        ids = self.collection.ids
        return {
            "workspace": self.workspace.uuid,
            "campaign": self.campaign,
            "u": question.u,
            "v": question.v,
            "id_u": ids[question.u],
            "id_v": ids[question.v],
        }

    def check(self, row: Mapping[str, object]) -> None:
        """Raise `InputError` for a row of another workspace or campaign."""
        if (given := text(row.get("workspace"), "workspace")) not in ("", self.workspace.uuid):
            raise InputError(f"the row is of workspace {shortened(given)}, and this is workspace {self.workspace.uuid!r}")
        if (given := text(row.get("campaign"), "campaign")) not in ("", self.campaign):
            raise InputError(f"the row is of campaign {shortened(given)}, not of {self.campaign!r}")

    def check_pair(self, row: Mapping[str, object], question: Question) -> None:
        """Raise `InputError` for a row that names another pair than its question has."""
        for side, item in (("u", question.u), ("v", question.v)):
            self.check_item(row, side, f"id_{side}", item, f"question {question.id}")

    def check_item(self, row: Mapping[str, object], number: str, name: str, item: int, of: str) -> None:
        """Raise `InputError` if the row has the column `number` or `name`, and not this item in it."""
        if text(row.get(number), number) and (given := whole(row[number], number)) != item:
            raise InputError(f"{number} is {given}, and {of} has {number} {item} ({self._called(item)}): it is another pair")
        if (called := text(row.get(name), name)) and called != self._called(item).strip():
            raise InputError(f"{name} is {shortened(called)}, and {of} has {name} {self._called(item)!r}: it is another pair")

    def _called(self, item: int) -> str:
        return self.collection.ids[item]


def campaign_of(rows: Iterable[Mapping[str, object]], given: str | None, there: Sequence[str], file: object) -> str:
    """Return the campaign of a file: the one that it names, or the one that is given for a file that names none.

    `there` are the campaigns of the workspace; `given` and the file must not disagree.
    """
    rows = list(rows)
    named = list(dict.fromkeys(name for row in rows if (name := _name(row))))
    if given is not None:
        if named and given not in named and all(_name(row) for row in rows):
            raise InputError(f"{file} holds answers to campaign {named[0]!r}, not to {given!r}: leave --campaign out")
        return given
    if len(named) == 1:
        return named[0]
    if named:
        raise InputError(f"{file} names the campaigns {', '.join(named[:5])}: say with --campaign whose answers to take")
    known = ", ".join(there) or "none"
    if len(there) == 1 and any(row.get(column) not in (None, "") for row in rows for column in _PAIR):
        return there[0]  # there is no other that could be meant, and the pairs are compared
    raise InputError(f"{file} does not say which campaign it belongs to: say it with --campaign (there are: {known})")


def _name(row: Mapping[str, object]) -> str:
    found = row.get("campaign")
    return found.strip() if isinstance(found, str) else ""


__all__ = ["COLUMNS", "Origin", "campaign_of"]
