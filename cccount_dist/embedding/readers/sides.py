"""Which side of an animal a picture shows: from a column of a manifest, from Camtrap DP's tags, or from the names of files.

A side is left, right or other. Words of other tools are read, too: "L", "left side", "frontleft"; "unknown" is none. A picture
that shows both sides becomes two items of one file, one for each side: they show the same animal for certain. Time: the rows.
"""

import re
from collections.abc import Mapping, Sequence

import pyarrow as pa

from cccount_dist.embedding.readers.idparts import finder
from storage.collection import LEFT, OTHER, RIGHT
from storage.errors import InputError
from storage.schema import COLLECTION

COLUMNS = ("side", "orientation", "viewpoint", "flank")
BOTH = "both"
SECOND = "#right"  # behind the id of the second item of a picture that shows both sides
_UNKNOWN = ("", "unknown", "nan", "none", "null", "na", "n/a", "?")
_TAG = re.compile(r"(?:^|[|;,])\s*(?:side|orientation|viewpoint|flank)\s*[:=]\s*([^|;,]*)", re.IGNORECASE)


def read_side(word: object) -> str | None:
    """Return the side that a word means, `both`, or None for a word that says that nobody knows.

    >>> [read_side(word) for word in ("L", "Right flank", "frontleft", "tail", "unknown", "left+right", None)]
    ['left', 'right', 'left', 'other', None, 'both', None]
    """
    said = "" if word is None else str(word).strip().lower()
    if said in _UNKNOWN:
        return None
    left, right = (said == letter or name in said for letter, name in (("l", LEFT), ("r", RIGHT)))
    if (left and right) or said in (BOTH, "lr", "rl", "l+r", "b"):
        return BOTH
    return LEFT if left else RIGHT if right else OTHER


def side_of(record: Mapping[str, object], tags: str | None = None) -> str | None:
    """Return the side that a row of a table says, in a column of its own or among the tags of a column."""
    for name in COLUMNS:
        if record.get(name) not in (None, ""):
            return read_side(record[name])
    found = None if tags is None else _TAG.search(str(record.get(tags) or ""))
    return None if found is None else read_side(found[1])


def with_sides(table: pa.Table, side_from: str | None) -> pa.Table:
    """Return the table with the sides that ids name, where none is known; a picture of both sides is there twice."""
    ids, known = table.column("id").to_pylist(), table.column("side").to_pylist()
    if side_from is not None:
        find = finder(side_from, "--side-from")
        known = [before or read_side(find(name)) for before, name in zip(known, ids, strict=True)]
        if not any(known):
            raise InputError(f"--side-from {side_from}: no id names a side, for example {ids[0]!r}")
    places = [place for place, side in enumerate(known) for _ in range(2 if side == BOTH else 1)]
    second = [place > 0 and places[place] == places[place - 1] for place in range(len(places))]
    sides = [(RIGHT if again else LEFT) if known[p] == BOTH else known[p] for p, again in zip(places, second, strict=True)]
    if any(second):
        table = table.take(places)
        names = [f"{ids[p]}{SECOND if again else ''}" for p, again in zip(places, second, strict=True)]
        table = _put(_put(table, "item", list(range(len(places)))), "id", names)
    return _put(table, "side", sides)


def _put(table: pa.Table, name: str, values: Sequence[object]) -> pa.Table:
    field = COLLECTION.schema.field(name)
    return table.set_column(table.column_names.index(name), field, pa.array(values, field.type))


__all__ = ["BOTH", "COLUMNS", "SECOND", "read_side", "side_of", "with_sides"]
