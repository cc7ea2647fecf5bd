"""`cccount individuals`: who was seen, as a table for people, programs and spreadsheets; and corrections by hand."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cccount_dist.campaign.noun import Noun, noun_of
from cccount_dist.campaign.outcome import Outcome, for_words, optional, plain_fields
from cccount_dist.individuals.census import Census, Individuals
from cccount_dist.individuals.roster import ALONE, Individual
from cccount_dist.individuals.sides import UNKNOWN, set_side, sides_now
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.types import DIFFERENT, SAME
from flows.exchange.csvfiles import csv_bytes
from storage.errors import InputError
from storage.objects import explained
from storage.workspace import Workspace

COLUMNS = (
    "individual", "name", "photos", "encounters", "first_seen", "last_seen", "places", "sides", "key_photo", "checked", "sure",
    "checked_by", "against", "known", "note",
)  # fmt: skip
_MOST_LINES = 60
ANIMAL = Noun("individual", "individuals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed(Outcome):
    """The individuals of a campaign."""

    campaign: str
    individuals: Sequence[Mapping[str, object]]
    no_animals: int
    ungrouped: int
    table: str
    seen_again: Sequence[int] | None = optional()  # where there is a catalogue: who is on new pictures, …
    new: Sequence[int] | None = optional()  # … who is in no catalogue, …
    missing: Sequence[str] | None = optional()  # … and whom no new picture shows
    file: str | None = optional()
    census: Census | None = for_words()  # noqa: RUF009 (a field)
    sides: Mapping[str, object] | None = optional()  # the count for each side and for animals, where sides are kept apart
    side_words: Sequence[str] = ()

    def words(self) -> str:
        found = self.census.individuals if self.census is not None else []
        lines = [_line(one) for one in found[:_MOST_LINES]]
        if (more := len(found) - len(lines)) > 0:
            lines.append(f"… and {more:,} more: --file FILE.csv or --json has all of them.")
        pictures = sum(one.photos for one in found)
        one = "individual" if len(found) == 1 else "individuals"
        lines.append(f"{len(found):,} {one} in {pictures:,} pictures by campaign {self.campaign}.")
        if self.ungrouped:
            lines.append(f"{self.ungrouped:,} pictures belong to nobody: they were not drawn, or have no vector.")
        if self.no_animals:
            lines.append(f"{self.no_animals:,} pictures show no animal.")
        if self.seen_again is not None and self.new is not None and self.missing is not None:
            some = f": {', '.join(self.missing[:10])}{' …' if len(self.missing) > 10 else ''}" if self.missing else ""
            against = f"{len(self.seen_again):,} seen again, {len(self.new):,} new, {len(self.missing):,} missing{some}"
            lines.append(f"Beside the catalogue: {against}.")
        return "\n".join([*lines, *self.side_words, self.file or self.table])

    def json(self) -> dict[str, object]:
        return {name: value for name, value in plain_fields(self).items() if name != "side_words"}


@dataclass(frozen=True, slots=True)
class Corrected(Outcome):
    """A correction by hand."""

    correction: str  # its id, by which it is taken back
    campaign: str
    said: str
    undo: str | None = for_words()  # the command that takes it back

    def words(self) -> str:
        return self.said if self.undo is None else f"{self.said}\nTake it back with: {self.undo}"


def list_individuals(workspace: str, campaign: str | None, file: str | None, gap_minutes: float) -> Listed:
    """Write individuals.parquet, and a table for spreadsheets if a file is named."""
    opened = Individuals.open(workspace, campaign)
    path = None if file is None else Path(file)
    if path is not None and path.suffix.lower() != ".csv":
        raise InputError(f"--file takes a .csv file, not {file!r}; individuals.parquet is written in any case")
    census = opened.write(gap_minutes)
    rows, sides = individual_rows(census), sides_now(opened.folder)
    if path is not None:
        write_csv(path, rows, COLUMNS)
    return Listed(
        campaign=census.campaign,
        individuals=rows,
        no_animals=len(census.no_animals),
        ungrouped=census.ungrouped,
        table=f"{opened.workspace.location}/{opened.folder.prefix}/results/individuals.parquet",
        seen_again=[one.individual for one in census.seen_again] if census.known else None,
        new=[one.individual for one in census.new] if census.known else None,
        missing=census.missing if census.known else None,
        file=file,
        census=census,
        sides=None if sides is None else sides.json(),
        side_words=() if sides is None else sides.words(noun_of(opened.folder.goal(), ANIMAL))[1:],
    )


def individual_rows(census: Census) -> list[dict[str, object]]:
    """The census for a program: times as text, lists as lists."""
    return [
        {
            "individual": one.individual,
            "name": one.name,
            "photos": one.photos,
            "encounters": one.encounters,
            "first_seen": written(one.first_seen),
            "last_seen": written(one.last_seen),
            "places": list(one.places),
            "sides": list(one.sides),
            "key_photo": census.facts.ids[one.key_item],
            "checked": len(one.checked_items),
            "sure": one.sure,
            "checked_by": list(one.checked_by),
            "against": one.against,
            "known": one.known,
            "note": one.note,
        }
        for one in census.individuals
    ]


def write_csv(path: Path, rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Write rows for spreadsheets: a list is its members with a | between them, nothing can run as a formula."""
    flat = [{name: flattened(row[name]) for name in columns} for row in rows]
    try:
        path.write_bytes(csv_bytes(flat, columns))
    except OSError as error:
        raise explained(error, path) from error


def flattened(value: object) -> object:
    """Return a cell: a list as text, nothing as an empty one.

    >>> flattened(["a", "b"]), flattened(None), flattened(True), flattened(3)
    ('a|b', '', 'yes', 3)
    """
    if isinstance(value, list | tuple):
        return "|".join(str(one) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else value


def written(moment: datetime | None) -> str | None:
    """A time as text."""
    return None if moment is None else moment.isoformat()


def _line(one: Individual) -> str:
    seen = ""
    if one.first_seen is not None and one.last_seen is not None:
        first, last = one.first_seen.date(), one.last_seen.date()
        seen = f", {first}" if first == last else f", {first} to {last}"
    where = f", {'; '.join(one.places[:3])}{' …' if len(one.places) > 3 else ''}" if one.places else ""
    met = "" if one.sure == ALONE or not seen else f", {one.encounters:,} encounter{'' if one.encounters == 1 else 's'}"
    name = f" {one.name}" if one.name else ""
    photos = f"{one.photos:,} picture{'' if one.photos == 1 else 's'}"
    sides = f", {' and '.join(one.sides)}" if one.sides else ""
    by = f" by {', '.join(one.checked_by[:3])}{' …' if len(one.checked_by) > 3 else ''}" if one.checked_by else ""
    sure = "" if one.sure == ALONE else f"; {one.sure}{by}"
    return f"{one.individual:>5}{name}: {photos}{met}{seen}{where}{sides}{sure}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed(Outcome):
    """What is not as it was when the individuals were listed last."""

    campaign: str
    changes: Sequence[Mapping[str, object]]
    listed_before: bool

    def words(self) -> str:
        if not self.listed_before:
            once = "list them once (`cccount individuals`); changes count from then on."
            return f"The individuals of campaign {self.campaign} were never listed: {once}"
        lines = [_changed_line(one) for one in self.changes[:_MOST_LINES]]
        if (more := len(self.changes) - len(lines)) > 0:
            lines.append(f"… and {more:,} more changes: --json has all of them.")
        said = f"{len(self.changes):,} change{'' if len(self.changes) == 1 else 's'}" if self.changes else "Nothing changed"
        return "\n".join([*lines, f"{said} since the individuals were listed last (campaign {self.campaign})."])


def _changed_line(one: Mapping[str, object]) -> str:
    pictures = one["pictures"]
    ids = pictures if isinstance(pictures, list) else []
    shown = ", ".join(map(str, ids[:3])) + (" …" if len(ids) > 3 else "")
    return f"{one['title']}: {one['what']}, {len(ids):,} picture{'' if len(ids) == 1 else 's'} ({shown})"


@dataclass(frozen=True, slots=True, kw_only=True)
class SidesSet(Outcome):
    """Which side pictures show now."""

    side: str | None
    pictures: int
    before: Mapping[str, str | None]

    def words(self) -> str:
        shown = f"{self.pictures:,} picture{' shows' if self.pictures == 1 else 's show'}"
        what = f"the side {self.side}" if self.side else "no known side"
        return f"{shown} {what}. Campaigns take it up at their next step; what people answered stays known."


def set_sides(workspace: str, side: str, pictures: Sequence[str]) -> SidesSet:
    """Say which side pictures show."""
    opened = Workspace.open(workspace)
    known = {name: item for item, name in enumerate(opened.collection().ids)}
    if strange := [name for name in pictures if name not in known]:
        raise InputError(f"there is no picture {strange[0]!r} in the collection: a picture is named by its id")
    said = None if side == UNKNOWN else side
    before = set_side(opened, [known[name] for name in pictures], said)
    ids = opened.collection().ids
    return SidesSet(side=said, pictures=len(before), before={ids[item]: one for item, one in before.items()})


def changed_individuals(workspace: str, campaign: str | None) -> Changed:
    """Say what changed since the last list, which stays as it is."""
    opened = Individuals.open(workspace, campaign)
    found, ids = opened.changes(), opened.workspace.collection().ids
    rows = [
        {"individual": one.individual, "title": one.title, "what": one.what, "pictures": [ids[item] for item in one.pictures]}
        for one in found or ()
    ]
    return Changed(campaign=opened.folder.name, changes=rows, listed_before=found is not None)


# -- corrections ----------------------------------------------------------------------------------------------------------


class Correcting:
    """Corrections by command: individuals by number or name, pictures by their ids."""

    def __init__(self, workspace: str, campaign: str | None, annotator: str) -> None:
        self._opened = Individuals.open(workspace, campaign)
        self._workspace, self._annotator = workspace, annotator

    def name(self, who: str, text: str) -> Corrected:
        number = self._number(who)
        said = f"Individual {number} is called {text!r}." if text.strip() else f"Individual {number} has no name any more."
        return self._told(self._opened.name(number, text, annotator=self._annotator), said)

    def note(self, who: str, text: str) -> Corrected:
        number = self._number(who)
        return self._told(self._opened.note(number, text, annotator=self._annotator), f"Noted about individual {number}.")

    def merge(self, into: str, others: Sequence[str]) -> Corrected:
        number, parts = self._number(into), [self._number(one) for one in others]
        told = self._opened.merge(number, parts, annotator=self._annotator)
        return self._told(told, f"Individual {number} has the pictures of {', '.join(map(str, parts))} now.")

    def split(self, who: str, pictures: Sequence[str]) -> Corrected:
        number, items = self._number(who), [self._item(one) for one in pictures]
        told = self._opened.split(number, items, annotator=self._annotator)
        new = self._opened.census().of_item(items[0])
        named = "another one" if new is None else f"individual {new.individual}"
        shown = "1 picture of individual {} is" if len(items) == 1 else f"{len(items):,} pictures of individual {{}} are"
        return self._told(told, f"{shown.format(number)} {named} now.")

    def move(self, picture: str, to: str) -> Corrected:
        number, item = self._number(to), self._item(picture)
        return self._told(self._opened.move(item, number, annotator=self._annotator), f"{picture} shows individual {number}.")

    def confirm(self, who: str) -> Corrected:
        number = self._number(who)
        told = self._opened.confirm(number, annotator=self._annotator)
        return self._told(told, f"All pictures of individual {number} are confirmed.")

    def not_an_animal(self, picture: str) -> Corrected:
        told = self._opened.not_an_animal(self._item(picture), annotator=self._annotator)
        return self._told(told, f"{picture} shows no animal.")

    def decide(self, picture: str, other: str, said: str) -> Corrected:
        value = SAME_QUESTION.read(said)
        if value not in (SAME, DIFFERENT):
            raise InputError(f"two pictures are the same or different, not {said!r}")
        u, v = self._item(picture), self._item(other)
        told = self._opened.decide(u, v, value == SAME, annotator=self._annotator)
        return self._told(told, f"{picture} and {other} are {'the same' if value == SAME else 'different'}: it is decided.")

    def undo(self, correction: str) -> Corrected:
        told = self._opened.undo(correction, annotator=self._annotator)
        return Corrected(told, self._opened.folder.name, "It is taken back.")

    def _told(self, correction: str, said: str) -> Corrected:
        name = self._opened.folder.name
        words = [
            "cccount",
            "individuals",
            "undo",
            self._workspace,
            correction,
            "--campaign",
            name,
            "--annotator",
            self._annotator,
        ]
        return Corrected(correction, name, said, shlex.join(words))

    def _number(self, who: str) -> int:
        """An individual by its name, or by its number."""
        census = self._opened.census()
        named = [one.individual for one in census.individuals if one.name == who.strip()]
        if named:
            return named[0]
        if who.strip().isdecimal():
            return census.find(int(who)).individual
        raise InputError(
            f"nobody is called {who!r} in campaign {census.campaign!r}: `cccount individuals` lists names and numbers"
        )

    def _item(self, picture: str) -> int:
        ids = self._opened.workspace.collection().ids
        if picture not in ids:
            raise InputError(f"there is no picture {picture!r} in the collection: a picture is named by its id")
        return ids.index(picture)


__all__ = [
    "COLUMNS",
    "Corrected",
    "Correcting",
    "Listed",
    "flattened",
    "individual_rows",
    "list_individuals",
    "write_csv",
    "written",
]
