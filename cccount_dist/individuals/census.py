"""The individuals of a workspace: who they are by the groups of a campaign, and how people correct them by hand.

A correction is an answer of a person in the log of the campaign: it can be taken back by who gave it, every campaign obeys it as
knowledge, and no method takes it back. Names and notes are entries of a journal of their own. A listing costs the collection and
the answers once; a correction costs the pictures that it is about.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign.campaign import Campaign
from cccount_dist.campaign.responses import check_annotator, new_id, undo_rows
from cccount_dist.individuals import numbering, statements
from cccount_dist.individuals.changes import Change, changes
from cccount_dist.individuals.listed import Census, individuals_table, is_settled, memory_of, table_of
from cccount_dist.individuals.roster import GAP_MINUTES, Described, Facts, groups_of, joined, roster
from cccount_dist.individuals.spoken import NO_ANIMAL, kept_to, spoken
from cccount_dist.individuals.statements import Pair
from cccount_dist.sampling.ledger import CORRECTION, OUTSIDE, LoggedAnswer, is_correction, is_flag
from cccount_dist.sampling.types import DIFFERENT, SAME
from cccount_dist.taken import require_for
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.counted import parquet_rows
from storage.errors import ConflictError, InputError, StoreError, WorkspaceError
from storage.individuals import (
    PAIRS_KEY,
    append_name,
    read_identities,
    read_known_pictures,
    read_names,
    update_identities,
)
from storage.nameentries import NAME, NOTE, Entry, check_text, now
from storage.schema import INDIVIDUALS, LABELS, SEEN, TableSpec
from storage.workspace import Workspace

LONGEST_NAME, LONGEST_NOTE = 80, 1000
_MOST_MINUTES = 100 * 366 * 24 * 60  # a hundred years
MOVE = "move"
GROUPED = (LABELS, SEEN)  # what individuals are made of: the groups of a clustering, or what a count saw together


class Individuals:
    """The individuals of a workspace by the groups of one of its campaigns. Threads may share it.

    Methods
    -------
    census() : everybody, as of now
    merge(into, others), split(individual, pictures), move(picture, to), confirm(individual) : corrections by hand
    not_an_animal(picture), name(individual, text), note(individual, text), decide(picture, other, same)
    undo(id) : take any of these back; each of them returns its id
    changes() : what is not as it was when they were written last
    write() : individuals.parquet in the results of the campaign

    Examples
    --------
    ::

        individuals = Individuals.open("census", "cluster")
        luna = individuals.census().individuals[0]
        individuals.name(luna.individual, "Luna", annotator="ana")
        undo = individuals.merge(luna.individual, [7], annotator="ana")
        individuals.undo(undo, annotator="ana")
    """

    def __init__(self, folder: CampaignFolder) -> None:
        known = parquet_rows(folder.workspace.objects, PAIRS_KEY)  # which take half of an answer
        require_for("individuals", folder.workspace, folder.name, more_answers=known // 2)
        self.workspace, self.folder = folder.workspace, folder
        self.campaign = Campaign(folder)
        self._others: dict[str, Campaign] = {}
        self._entries: dict[str, Entry] = {}  # of the journal of names, which only grows
        self._lock = threading.RLock()

    @classmethod
    def open(cls, workspace: str, campaign: str | None = None) -> Self:
        """Open the individuals of a campaign; of the newest one that has groups, if none is named."""
        opened = Workspace.open(workspace)
        return cls(CampaignFolder(opened, campaign or default_campaign(opened)))

    @property
    def has_groups(self) -> bool:
        """Whether the campaign has groups, or saw some."""
        return any(len(_groups(self.folder, spec)) for spec in GROUPED)

    @property
    def anybody_is_named(self) -> bool:
        """Whether an individual has a name, from a person or from a catalogue."""
        with self._lock:
            return bool(self._described().names) or read_known_pictures(self.workspace).num_rows > 0

    def census(self, gap_minutes: float = GAP_MINUTES, *, remember: bool = True) -> Census:
        """Return everybody as of now: the campaign's groups, kept to all that people said by hand.

        `gap_minutes`: pictures of one individual at one place with less between them are one encounter. Without `remember`
        nothing is written: somebody who is new keeps the number only if nobody else is listed before.
        """
        if not 0 <= gap_minutes <= _MOST_MINUTES:
            raise InputError(f"the minutes between encounters are 0 to {_MOST_MINUTES:,}, not {gap_minutes:g}")
        with self._lock:
            collection = self.workspace.collection()
            spec, labels = next(((one, found) for one in GROUPED if len(found := _groups(self.folder, one))), (None, None))
            if spec is None or labels is None:
                raise WorkspaceError(
                    f"campaign {self.folder.name!r} has no groups: `cccount cluster` makes some, and a count that places pictures"
                    " (--method placing, the usual one), after its first step"
                )
            heard = spoken(self.workspace, self.campaign, self.others())
            kept = kept_to(labels, collection.items, heard)
            groups = groups_of(kept, without=heard.no_animals)
            sure = joined(groups, heard.answers)
            described = self._described()
            numbers = self._numbered(groups, sure, described, remember=remember)
            catalogue = read_known_pictures(self.workspace).to_pylist()
            known = {row["item"]: row["name"] for row in catalogue}
            rows = roster(
                groups,
                numbers,
                sure,
                facts := Facts.of(collection.table),
                heard.answers,
                described,
                known=known,
                sides=_sides(collection, catalogue),
                gap_minutes=gap_minutes,
            )
            ungrouped = int((kept < 0).sum())
            return Census(self.folder.name, rows, facts, tuple(sorted(heard.no_animals)), ungrouped, spec is LABELS, known)

    def write(self, gap_minutes: float = GAP_MINUTES) -> Census:
        """Write individuals.parquet into the results of the campaign, and return who is in it."""
        census = self.census(gap_minutes)
        self.folder.write_table(INDIVIDUALS, individuals_table(census))
        return census

    def changes(self) -> list[Change] | None:
        """Say what is not as it was when the individuals were written last (`write`); None if they never were.

        `Individuals.open("census").changes()`
        """
        with self._lock:
            before = {row["individual"]: row["items"] for row in self.folder.read_table(INDIVIDUALS).to_pylist()}
            return changes(before, self.census(remember=False).individuals) if before else None

    # -- corrections ------------------------------------------------------------------------------------------------------

    def merge(self, into: int, others: Sequence[int], *, annotator: str, id: str | None = None) -> str:  # noqa: A002
        """Say that individuals are one: all of their pictures show the first. Returns the id by which it is taken back.

        `individuals.merge(3, [7, 9], annotator="ana")`
        """
        with self._lock:
            if self._knows(id):
                return str(id)
            census = self.census()
            by_number = {one.individual: one for one in census.individuals}
            parts = [by_number.get(one) or census.find(one) for one in dict.fromkeys(others) if one != into]
            if not parts:
                raise InputError(f"individual {into} is one already: name another one to merge with it")
            first = census.find(into)
            items = [first.key_item, *(i for one in (first, *parts) for i in one.items if i != first.key_item)]
            told = self._record(statements.all_the_same(items), "merge", annotator, id)
            self._remember(lambda memory: numbering.absorbed(memory, into, [one.individual for one in parts]))
            return told

    def split(self, individual: int, pictures: Iterable[int], *, annotator: str, id: str | None = None) -> str:  # noqa: A002
        """Say that some pictures (item numbers) of an individual show another one, which gets a number of its own.

        `individuals.split(3, [17, 20], annotator="ana")`
        """
        with self._lock:
            if self._knows(id):
                return str(id)
            one = self.census().find(individual)
            marked = sorted(chosen := set(pictures))
            if foreign := sorted(chosen.difference(one.items)):
                raise InputError(f"individual {individual} has no picture {self._called(foreign[0])}")
            if not marked or len(marked) == len(one.items):
                raise InputError(f"mark some of the {one.photos:,} pictures of individual {individual}, and not all of them")
            rest = [item for item in one.items if item not in chosen]
            told = self._record(statements.parted(marked, rest), "split", annotator, id)
            self._remember(lambda memory: numbering.parted(memory, individual, marked))
            return told

    def move(self, picture: int, to: int, *, annotator: str, id: str | None = None) -> str:  # noqa: A002
        """Say that a picture shows another individual than it is with.

        `individuals.move(17, to=3, annotator="ana")`
        """
        with self._lock:
            if self._knows(id):
                return str(id)
            census = self.census()
            there, here = census.find(to), census.of_item(picture)
            if here is not None and here.individual == to:
                raise InputError(f"{self._called(picture)} is a picture of individual {to} already")
            rest = [] if here is None else [item for item in here.items if item != picture]
            told = self._record(statements.moved(picture, there.items, rest), MOVE, annotator, id)
            if here is not None and rest:
                self._remember(lambda memory: numbering.parted(memory, here.individual, [picture]))
            return told

    def confirm(self, individual: int, *, annotator: str, id: str | None = None) -> str:  # noqa: A002
        """Say that all pictures of an individual show it.

        `individuals.confirm(3, annotator="ana")`
        """
        with self._lock:
            one = self.census().find(individual)
            if one.photos == 1:
                raise InputError(f"individual {individual} has one picture: there is nothing to confirm")
            pairs = statements.all_the_same(one.items)
            if (before := self._said_already(pairs, annotator)) is not None:
                return before
            return self._record(pairs, "confirm", annotator, id)

    def decide(self, picture: int, other: int, same: bool, *, annotator: str, id: str | None = None) -> str:  # noqa: A002, FBT001
        """Decide a contradiction: two pictures (item numbers) show one individual, or two. It stands above what people answered.

        `individuals.decide(17, 20, same=False, annotator="lea")`
        """
        with self._lock:
            items = self.workspace.collection().items
            if picture == other or not 0 <= min(picture, other) <= max(picture, other) < items:
                raise InputError(f"two pictures are decided about, by numbers from 0 to {items - 1:,}: not {picture} and {other}")
            return self._record([(picture, other, SAME if same else DIFFERENT)], "decision", annotator, id)

    def not_an_animal(self, picture: int, *, annotator: str, id: str | None = None) -> str:  # noqa: A002
        """Say that a picture shows no animal: it belongs to nobody, and is asked about no more.

        `individuals.not_an_animal(17, annotator="ana")`
        """
        own = id or new_id()
        self.campaign.flag(picture, NO_ANIMAL, annotator=annotator, id=own)
        self._seal()
        return own

    def name(self, individual: int, text: str, *, annotator: str, id: str | None = None) -> str:  # noqa: A002
        """Give an individual a name; "" for none. A name is given once.

        `individuals.name(3, "Luna", annotator="ana")`
        """
        said = check_text(text, "a name", LONGEST_NAME)
        with self._lock:
            census = self.census()
            census.find(individual)
            taken = next((one for one in census.individuals if said and one.name == said and one.individual != individual), None)
            if taken is not None:
                raise InputError(
                    f"individual {taken.individual} is called {said!r} already: merge the two, or choose another name"
                )
            return self._describe(individual, NAME, said, annotator, id)

    def note(self, individual: int, text: str, *, annotator: str, id: str | None = None) -> str:  # noqa: A002
        """Write something about an individual; "" for nothing.

        `individuals.note(3, "left ear torn", annotator="ana")`
        """
        said = check_text(text, "a note", LONGEST_NOTE)
        self.census().find(individual)
        return self._describe(individual, NOTE, said, annotator, id)

    def undo(self, id: str, *, annotator: str, undo_id: str | None = None) -> str:  # noqa: A002
        """Take back one of one's own corrections, names or notes, by the id that it returned.

        `individuals.undo(told, annotator="ana")`
        """
        check_annotator(annotator)
        own = undo_id or new_id()
        with self._lock:
            entries = self._names()
            entry = next((one for one in entries if one.id == id and one.undoes is None), None)
            if entry is not None:
                if entry.annotator != annotator or any(one.undoes == id for one in entries):
                    raise InputError(f"{annotator} has said nothing with the id {id!r} that still holds")
                append_name(self.workspace, Entry(own, entry.individual, entry.field, "", annotator, now(), id), self._entries)
                return own
            ledger = self.campaign.ledger
            if ledger.knows(own):
                return own
            rows = [row for row in ledger.rows() if row.id == id or (row.id.startswith(f"{id}/") and is_correction(row.source))]
            if rows and is_flag(rows[0].source):
                self.campaign.unflag(id, annotator=annotator, id=own)
                self._seal()
                return own
            if not rows or not is_correction(rows[0].source) or rows[0].annotator != annotator:
                raise InputError(f"{annotator} has made no correction {id!r} that still holds in campaign {self.folder.name!r}")
            self.campaign.record(undo_rows(rows, own))
            self._seal()
            if rows[0].source == _source(MOVE):
                self._remember(lambda memory: numbering.forgotten(memory, rows[0].u))
            else:
                self._remember(lambda memory: numbering.released(memory, {item for row in rows for item in (row.u, row.v)}))
            return own

    # -- inside -----------------------------------------------------------------------------------------------------------

    def _knows(self, given: str | None) -> bool:
        """Whether a correction with this id is in the log: whoever sends it again, after a lost connection, has said it once."""
        return given is not None and self.campaign.ledger.knows(given)

    def _said_already(self, pairs: Sequence[Pair], annotator: str) -> str | None:
        """The id of the last confirmation of somebody that says exactly these pairs: who says it again says nothing new."""
        said: dict[str, list[Pair]] = {}
        for row in self.campaign.ledger.rows():
            if row.annotator == annotator and row.source == _source("confirm"):
                said.setdefault(row.id.partition("/")[0], []).append((row.u, row.v, float(row.value or 0.0)))
        return next((told for told, before in reversed(said.items()) if before == pairs), None)

    def answers_of(self, correction: str) -> int:
        """Return how many answers a correction is in the log."""
        return sum(row.id == correction or row.id.startswith(f"{correction}/") for row in self.campaign.ledger.rows())

    def _record(self, pairs: Sequence[Pair], what: str, annotator: str, given: str | None) -> str:
        """Write what a correction says into the log, all in one."""
        check_annotator(annotator)
        own = given or new_id()
        if not self.campaign.ledger.knows(own):
            source = _source(what)
            rows = [
                LoggedAnswer(f"{own}/{place}" if place else own, OUTSIDE, u, v, value, source, annotator)
                for place, (u, v, value) in enumerate(pairs)
            ]
            self.campaign.record(rows)
            self._seal()
        return own

    def _seal(self) -> None:
        """Put what was recorded into the log, where other campaigns read it. If that fails the next step does it: it is durable.

        Not beside a step that answers itself: what it says is in its memory before it is in the log, and must stay in that order.
        """
        if self.folder.goal().oracle == "people" or not self.folder.is_being_advanced:
            with suppress(StoreError, ConflictError), self.folder.journal() as journal:
                journal.seal(self.folder.log)

    def _describe(self, individual: int, field: str, text: str, annotator: str, given: str | None) -> str:
        check_annotator(annotator)
        own = given or new_id()
        standing = next((one for one in reversed(self._names()) if (one.individual, one.field) == (individual, field)), None)
        if standing is not None and standing.undoes is None and (standing.text, standing.annotator) == (text, annotator):
            return standing.id  # the same again says nothing new
        append_name(self.workspace, Entry(own, individual, field, text, annotator, now()), self._entries)
        return own

    def _names(self) -> list[Entry]:
        return read_names(self.workspace, self._entries)

    def _described(self) -> Described:
        """Names and notes that hold: the newest of those that were not taken back."""
        entries = self._names()
        undone = {entry.undoes for entry in entries}
        standing: dict[tuple[str, int], str] = {}
        for entry in entries:
            if entry.undoes is None and entry.id not in undone:
                standing[entry.field, entry.individual] = entry.text
        return Described(
            {number: text for (field, number), text in standing.items() if field == NAME and text},
            {number: text for (field, number), text in standing.items() if field == NOTE and text},
        )

    def _numbered(
        self, groups: Sequence[Sequence[int]], sure: Sequence[Sequence[int]], described: Described, *, remember: bool
    ) -> list[int]:
        """The number of every group; what is remembered of them is brought up to date."""
        numbers: list[int] = []

        def change(table: pa.Table) -> pa.Table:
            memory = memory_of(table)
            numbers[:] = numbering.numbers_of(groups, memory, described.names)
            return table_of(numbering.remembered(groups, sure, numbers, memory))

        memory = memory_of(read_identities(self.workspace))
        if not remember or is_settled(groups, sure, memory):
            return numbering.numbers_of(groups, memory, described.names)
        update_identities(self.workspace, change)
        return numbers

    def _remember(self, change: numbering.Change) -> None:
        update_identities(self.workspace, lambda table: table_of(change(memory_of(table))))

    def others(self) -> list[Campaign]:
        """The other campaigns of the workspace: what people corrected there holds here, too."""
        for name in self.workspace.campaigns():
            if name != self.folder.name and name not in self._others:
                self._others[name] = Campaign(CampaignFolder(self.workspace, name))
        return list(self._others.values())

    def _called(self, item: int) -> str:
        ids = self.workspace.collection().ids
        return repr(ids[item]) if 0 <= item < len(ids) else str(item)


def default_campaign(workspace: Workspace) -> str:
    """The campaign whose individuals are meant if nobody says: the newest that groups everything, else the newest count."""
    with_groups = []
    for name in workspace.campaigns():
        folder = CampaignFolder(workspace, name)
        there = [workspace.objects.size(f"{folder.prefix}/results/{spec.name}.parquet") is not None for spec in GROUPED]
        if any(there):
            with_groups.append((there[0], folder.settings().started_at, name))
    if not with_groups:
        raise WorkspaceError(
            f"{workspace.location} has no groups yet: `cccount cluster {workspace.location}` makes them, or "
            f"`cccount count {workspace.location}`, which shows the ones that it saw"
        )
    return max(with_groups)[-1]


def _sides(collection: Collection, catalogue: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """The side that each picture shows: what the collection says, else what a catalogue does."""
    said = {int(row["item"]): str(row["side"]) for row in catalogue if row["side"]}
    return said | {item: side for item, side in enumerate(collection.sides()) if side is not None}


def _source(what: str) -> str:
    """What the log says a correction came from."""
    return f"{CORRECTION}: {what}"


def _groups(folder: CampaignFolder, spec: TableSpec) -> NDArray[np.int64]:
    labels: NDArray[np.int64] = folder.read_table(spec).column("cluster").to_numpy()
    return labels


__all__ = ["Census", "Individuals", "default_campaign"]
