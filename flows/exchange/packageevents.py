"""What observations of whole events say about the pictures of a Camtrap DP package: who is on those that no other row names."""

from collections.abc import Iterator
from pathlib import Path

from cccount_dist.embedding.readers.camtrapmedia import Events, is_animal
from cccount_dist.embedding.readers.table import records
from flows.exchange.answerfiles import Row
from flows.exchange.cells import text
from storage.reading import reading

_COLUMNS = ("observationID", "deploymentID", "eventStart", "eventEnd", "observationType", "count", "individualID")


def is_of_event(row: Row) -> bool:
    """Whether a row of observations.csv, its columns in lower case, is about an event and names no medium."""
    return not text(row.get("mediaid"), "mediaID")


def named_by_events(folder: Path, rows: list[tuple[int, Row]]) -> Iterator[tuple[int, str, str]]:
    """Yield line, medium and individual for each medium that only an event is about, if it is of one animal that has a name."""
    table = folder / "media.csv"
    if not table.is_file() or not any(is_of_event(row) for _, row in rows):
        return
    every = [{name: row.get(name.lower()) for name in _COLUMNS} | {"line": line} for line, row in rows if is_of_event(row)]
    events = Events([one for one in every if is_animal(one)], str(folder / "observations.csv"))
    named = {text(row.get("mediaid"), "mediaID") for _, row in rows}
    with reading(table):
        for number, medium in enumerate(records(table), start=1):
            identity = text(medium.get("mediaID"), "mediaID")
            one = None if identity in named else events.only(medium, f"{table} row {number}")
            if one is not None and (name := text(one["individualID"], "individualID")):
                yield int(str(one["line"])), identity, name


__all__ = ["is_of_event", "named_by_events"]
