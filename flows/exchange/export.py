"""`cccount export`: individuals out, in the formats of the field (`formats/`). What is there is kept.

Text that a spreadsheet would run as a formula goes out with an apostrophe in front. Time and memory: the collection.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.individuals.census import Individuals
from cccount_dist.taken import require_for
from flows.exchange.formats import FORMATS
from flows.exchange.formats.captures import day
from flows.exchange.formats.source import Choices, Source
from flows.exchange.places import read_places
from storage.collection import SIDES
from storage.errors import InputError
from storage.objects import explained

MOST_DRAWS = 1000
_MOST_DAYS = 36_600  # of an occasion
_CAPTURES = ("secr", "mark")


@dataclass(frozen=True, slots=True, kw_only=True)
class Export(Outcome):
    """What went out."""

    format: str
    path: str
    rows: int
    note: str | None = optional()
    measures: Mapping[str, float] | None = optional()  # secr, mark: shares of pairs that are falsely together, or missed

    def words(self) -> str:
        return f"{self.path}: {self.rows:,} rows ({self.format}).{f' {self.note}.' if self.note else ''}"


def export(
    workspace: str,
    form: str,
    to: str,
    *,
    campaign: str | None = None,
    gap_minutes: float = 30.0,
    occasion_days: int = 1,
    first_day: str | None = None,
    last_day: str | None = None,
    draws: int = 0,
    seed: int = 0,
    side: str | None = None,
    package: str | None = None,
    places: str | None = None,
) -> Export:
    """Write the individuals of a campaign in one of `FORMATS`; nothing is written over."""
    if form not in FORMATS:
        raise InputError(f"--format takes {', '.join(FORMATS)}, not {form!r}")
    if not 1 <= occasion_days <= _MOST_DAYS:
        raise InputError(f"an occasion has at least 1 day, and at most {_MOST_DAYS:,}, not {occasion_days:,}")
    if not 0 <= draws <= MOST_DRAWS:
        raise InputError(f"--draws takes 0 to {MOST_DRAWS:,}, not {draws:,}")
    if draws and form not in _CAPTURES:
        raise InputError(f"--draws goes with --format {' or '.join(_CAPTURES)}: {form} has one list of individuals")
    if side is not None and form not in _CAPTURES:
        raise InputError(f"--side goes with --format {' or '.join(_CAPTURES)}: {form} has every picture with its side")
    if side is not None and side not in SIDES:
        raise InputError(f"--side takes {', '.join(SIDES)}, not {side!r}")
    target = Path(to)
    if os.path.lexists(target):
        raise InputError(f"{to} is there already: name another place, or move it away")
    choices = Choices(
        gap_minutes=gap_minutes,
        occasion_days=occasion_days,
        first_day=day(first_day, "--from"),
        last_day=day(last_day, "--until"),
        draws=draws,
        seed=seed,
        side=side,
        package=None if package is None else Path(package),
        places={} if places is None else read_places(Path(places)),
    )
    opened = Individuals.open(workspace, campaign)
    require_for("export", opened.workspace, opened.folder.name)
    found = FORMATS[form](Source(opened, opened.census(gap_minutes), choices))
    _write(target, found.files)
    return Export(format=form, path=to, rows=found.rows, note=found.note, measures=found.measures or None)


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    """Write one file as `target`, several into a folder that appears when all of them are whole."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if list(files) == [""]:
            unfinished.write_bytes(files[""])
        else:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            for name, data in files.items():
                (unfinished / name).write_bytes(data)
        unfinished.rename(target)
    except OSError as error:
        raise explained(error, target) from error


__all__ = ["FORMATS", "Export", "export"]
