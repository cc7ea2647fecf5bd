"""`cccount facts`: what time, place and tables say about pairs of pictures, so that nobody has to be asked.

Each is off until it is asked for. A fact that may be wrong (a clock, a second animal in front of two cameras) carries how often
it is (`--error-rate`): it answers questions for free, every answer of a person stands above it, and the log of each campaign
names its reason. A row that cannot be used is named with its line and column; the others are kept.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign.answerwords import percent_words
from cccount_dist.campaign.inputs import neighbor_lists
from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.embedding.readers.table import parse_time
from cccount_dist.individuals.evident import Pairs, after_death, at_once, one_of_each, too_far
from cccount_dist.individuals.roster import Facts
from cccount_dist.room import Size
from cccount_dist.sampling.constraints import MOST_DOUBT
from cccount_dist.sampling.types import DIFFERENT, SAME
from cccount_dist.taken import require
from flows.exchange.answerfiles import Row, read_rows, rows_written
from flows.exchange.catalogue import PICTURES, Pictures, naming
from flows.exchange.cells import shortened, text
from flows.exchange.outcomes import Rejected
from storage.counted import collection_items, parquet_rows
from storage.errors import InputError
from storage.individuals import PAIRS_KEY, add_known, read_known_pairs, read_known_pictures
from storage.schema import KNOWN_PAIRS, NEIGHBOR_INDEX
from storage.workspace import Workspace

GROUPS = ("encounter", "burst", "group", "event", "eventid", "sequence", "sequenceid")
CAMERAS = ("camera", "opposite")
DEATHS = ("name", "died")
_DAY = 86_400_000_000  # microseconds
_SURE = 0.02  # how often a fact is wrong if nobody says


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsAdded(Outcome):
    """What was brought in."""

    facts: str
    pairs: int  # that are new
    known: int  # that were known already
    value: str
    error_rate: float
    overruled: int  # that go against what is known for certain: they were left out
    rejected: list[Rejected]
    note: str | None = optional()

    @property
    def success(self) -> bool:
        return not self.rejected

    def words(self) -> str:
        new = "1 new pair is" if self.pairs == 1 else f"{self.pairs:,} new pairs are"
        said = f"{new} {self.value} ({self.facts}); {self.known:,} {'was' if self.known == 1 else 'were'} known."
        sure = (
            "They are certain."
            if not self.error_rate
            else f"They may be wrong ({percent_words(self.error_rate)}): answers of people stand above."
        )
        lines = [f"{said} {sure} Every campaign knows them from its next step on."]
        if self.overruled:
            lines.append(f"{self.overruled:,} go against what is known for certain, and were left out.")
        lines += [f"line {row.line}: {row.reason}" for row in self.rejected[:10]]
        if len(self.rejected) > 10:
            lines.append(f"… and {len(self.rejected) - 10:,} more rows that cannot be used.")
        return "\n".join([*lines, *([self.note] if self.note else [])])


def encounters(workspace: str, file: str, error_rate: float = _SURE) -> FactsAdded:
    """Pictures of one encounter or burst show one animal, by a table with a picture and a group in each row."""
    opened, rejected = Workspace.open(workspace), list[Rejected]()
    _require(opened, rows_written(Path(file)))
    pictures = Pictures(opened.collection())
    rows = read_rows(Path(file), (*PICTURES, *GROUPS))
    rows.require("a picture (id or path) and an encounter in each row", *GROUPS)
    rows.require("a picture (id or path) and an encounter in each row", *PICTURES)
    named = [name for name in PICTURES if name in rows.columns]
    column = next(name for name in GROUPS if name in rows.columns)
    groups: dict[str, list[int]] = defaultdict(list)
    rejected += [Rejected(*row) for row in rows.rejected]

    def take(row: Row) -> None:
        if group := text(row.get(column), column):
            groups[group].append(pictures.of_row(row, named))

    _each(rows.rows, take, rejected)
    name = Path(file).name
    return _add(opened, one_of_each(groups.values()), SAME, error_rate, name, f"one {column} in {name}", rejected)


def cameras(workspace: str, file: str, seconds: float = 10.0, error_rate: float = _SURE) -> FactsAdded:
    """Pictures that two cameras which stand opposite each other took at once show one animal: they join its sides."""
    if seconds < 0:
        raise InputError(f"--within must be 0 seconds or more, not {seconds:g}")
    opened, rejected = Workspace.open(workspace), list[Rejected]()
    _require(opened, rows_written(Path(file)))
    facts = Facts.of(opened.collection().table)
    rows = read_rows(Path(file), CAMERAS)
    rows.require("two cameras in each row: camera, opposite", "camera")
    rows.require("two cameras in each row: camera, opposite", "opposite")
    rejected += [Rejected(*row) for row in rows.rejected]
    found: Pairs = []

    def of_camera(row: Row, column: str) -> list[int]:
        name = text(row.get(column), column).rstrip("/")
        if not name:
            raise InputError(f"column {column} is empty: write the folder of the camera's pictures, or its place")
        both = zip(facts.ids, facts.places, strict=True)
        items = [item for item, (one, place) in enumerate(both) if name == place or f"/{name}/" in f"/{one}"]
        if not items:
            raise InputError(f"column {column}: no picture is in a folder {shortened(name)}, or at a place of this name")
        return [item for item in items if facts.timed[item]]

    def take(row: Row) -> None:
        found.extend(at_once(of_camera(row, "camera"), of_camera(row, "opposite"), facts.moments, seconds))

    _each(rows.rows, take, rejected)
    reason = f"within {seconds:g} s before opposite cameras"
    note = None if facts.timed.any() else "No picture has a time: cccount init --times exif reads it from the files."
    return _add(opened, found, SAME, error_rate, Path(file).name, reason, rejected, note=note)


def speed(workspace: str, limit: float, error_rate: float = _SURE) -> FactsAdded:
    """Pictures too far apart in too short a time show two animals."""
    if not limit > 0:
        raise InputError(f"--speed must be above 0 km/h, not {limit:g}")
    opened = Workspace.open(workspace)
    if not opened.has_array(NEIGHBOR_INDEX):
        raise InputError(f"which pictures are alike is not known yet: run `cccount neighbors {workspace}` first")
    _require(opened, 0)
    table = opened.collection().table
    facts = Facts.of(table)
    north, east = (table.column(name).to_numpy(zero_copy_only=False).astype(np.float64) for name in ("latitude", "longitude"))
    if not (~np.isnan(north) & facts.timed).any():
        raise InputError(
            "no picture has a time and coordinates: they come with a manifest (taken_at, latitude, longitude), a Camtrap DP "
            "package, or from the files (cccount init --times exif --gps exif)"
        )
    pairs = too_far(np.asarray(neighbor_lists(opened)), facts.moments, facts.timed, north, east, limit)
    return _add(opened, pairs, DIFFERENT, error_rate, "speed", f"more than {limit:g} km/h between them", [])


def deaths(workspace: str, file: str, error_rate: float = _SURE) -> FactsAdded:
    """Pictures that were taken after an animal's death show another one."""
    opened, rejected = Workspace.open(workspace), list[Rejected]()
    _require(opened, rows_written(Path(file)))
    facts = Facts.of(opened.collection().table)
    rows = read_rows(Path(file), (*DEATHS, "identity", "individual", "date"))
    who = next((name for name in ("name", "identity", "individual") if name in rows.columns), "name")
    when = next((name for name in ("died", "date") if name in rows.columns), "died")
    rows.require("a name and the day of its death in each row: name, died", who)
    rows.require("a name and the day of its death in each row: name, died", when)
    rejected += [Rejected(*row) for row in rows.rejected]
    known: dict[str, list[int]] = defaultdict(list)
    for one in read_known_pictures(opened).to_pylist():
        known[one["name"]].append(one["item"])
    died: dict[str, int] = {}
    shown: dict[str, int] = {}

    def take(row: Row) -> None:
        name = text(row.get(who), who)
        if name not in known:
            raise InputError(f"column {who}: nobody in the catalogue is called {shortened(name)} (`cccount catalogue import`)")
        moment = parse_time(text(row.get(when), when), f"column {when}")
        if moment is None:
            raise InputError(f"column {when} is empty: write the day of the death, such as 2026-06-30")
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        at = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        if moment.timetz().replace(tzinfo=None) == time():  # a day: it may have been seen until its end
            at += _DAY
        before = [item for item in known[name] if not facts.timed[item] or facts.moments[item] <= at]
        if not before:
            raise InputError(f"column {when}: every picture of {shortened(name)} was taken after {moment.date()}")
        died[name], shown[name] = at, before[0]

    _each(rows.rows, take, rejected)
    pairs = after_death(shown, died, facts.moments, facts.timed)
    return _add(opened, pairs, DIFFERENT, error_rate, Path(file).name, "taken after its death", rejected)


def _each(rows: Iterable[tuple[int, Row]], take: Callable[[Row], None], rejected: list[Rejected]) -> None:
    """Take every row; what is wrong with one is kept with its line."""
    for line, row in rows:
        with naming(rejected, line):
            take(row)


def _require(opened: Workspace, pairs: int) -> None:
    """Refuse facts about so many pairs if they do not fit in memory beside those that are known: before anything is written."""
    known = parquet_rows(opened.objects, PAIRS_KEY)
    require("facts", Size(collection_items(opened.objects), answers=known + pairs))


def _add(
    opened: Workspace, pairs: Pairs | NDArray[np.int64], value: float, error: float, origin: str, reason: str,
    rejected: list[Rejected], *, note: str | None = None,
) -> FactsAdded:  # fmt: skip
    if not 0 <= error <= MOST_DOUBT:
        raise InputError(
            f"--error-rate must be 0 to {MOST_DOUBT:g}, not {error:g}: a fact that is wrong more often does not help"
        )
    _require(opened, len(pairs))
    said = {(min(u, v), max(u, v)): value for u, v in np.asarray(pairs, np.int64).reshape(-1, 2).tolist() if u != v}
    counts = {"pairs": 0, "known": 0, "overruled": 0}

    def add(known: pa.Table, before: pa.Table) -> tuple[pa.Table, pa.Table]:
        there = {(min(row["u"], row["v"]), max(row["u"], row["v"])): row for row in before.to_pylist()}
        fresh = []
        for (u, v), one in said.items():
            row = there.get((u, v))
            if row is not None:
                counts["known" if row["value"] == one else "overruled"] += 1
                continue
            fresh.append({"u": u, "v": v, "value": one, "origin": origin, "error": error or None, "reason": reason})
        counts["pairs"] = len(fresh)
        return known, pa.concat_tables([before, pa.Table.from_pylist(fresh, KNOWN_PAIRS.schema)])

    add_known(opened, add)
    return FactsAdded(
        facts=reason, value="the same" if value == SAME else "different", error_rate=error, note=note,
        rejected=sorted(rejected, key=lambda row: row.line), **counts,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsListed(Outcome):
    """What was brought in so far, by its reason."""

    facts: list[dict[str, object]]

    def words(self) -> str:
        lines = []
        for one in self.facts:
            error = one["error_rate"]
            sure = "certain" if not isinstance(error, float) else f"{percent_words(error)} wrong"
            lines.append(f"{one['pairs']:>8,} {one['value']:<9} {sure:<9} {one['reason']}")
        return "\n".join(lines) or "No facts yet: `cccount facts --help` says which there can be."


def listed(workspace: str) -> FactsListed:
    """Say which facts there are."""
    found: dict[tuple[str, str, float | None], int] = defaultdict(int)
    opened = Workspace.open(workspace)
    _require(opened, 0)
    for row in read_known_pairs(opened).to_pylist():
        found[row["reason"] or row["origin"], "same" if row["value"] == SAME else "different", row["error"]] += 1
    return FactsListed(facts=[{"reason": r, "value": v, "error_rate": e, "pairs": n} for (r, v, e), n in found.items()])


__all__ = ["FactsAdded", "FactsListed", "cameras", "deaths", "encounters", "listed", "speed"]
