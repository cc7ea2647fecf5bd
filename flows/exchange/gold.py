"""`cccount gold import`: pairs whose answer is known, from a file, for checking people.

Rows are `id_u, id_v, value` (or the item numbers `u, v`); what answers export writes can be used as it is. Pairs that were
imported before are replaced; a row that cannot be one is named with its line, and the rest is kept.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.taken import require_for
from flows.exchange.answerfiles import Row, read_rows, rows_written
from flows.exchange.cells import said, shortened, text, whole
from flows.exchange.outcomes import GoldImported, Rejected
from storage.collection import Collection
from storage.errors import InputError
from storage.gold import read_gold, write_gold
from storage.schema import GOLD
from storage.workspace import Workspace

_COLUMNS = ("u", "v", "id_u", "id_v", "value", "workspace")
_EXPECTED = "id_u and id_v (or u and v), and value (same or different)"


def import_gold(workspace: str, file: str) -> GoldImported:
    """Read gold pairs into the workspace, and return how many it has now."""
    opened = Workspace.open(workspace)
    require_for("answers import", opened, more_answers=rows_written(Path(file)))
    collection = opened.collection()
    numbers = {name: item for item, name in enumerate(collection.ids)}
    known = {(row["u"], row["v"]): row for row in read_gold(opened).to_pylist()}
    given = read_rows(Path(file), _COLUMNS)
    given.require(_EXPECTED, "value")
    given.require(_EXPECTED, *_COLUMNS[:4])
    rejected = [Rejected(*row) for row in given.rejected]
    read = empty = 0
    for line, row in given.rows:
        try:
            found = _pair(row, numbers, collection, opened.uuid)
        except InputError as error:
            rejected.append(Rejected(line, str(error)))
            continue
        if found is None:
            empty += 1
            continue
        u, v, value = found
        known[u, v] = {"u": u, "v": v, "value": value, "origin": Path(file).name}
        read += 1
    if not (read or rejected):
        raise InputError(f"{file}: none of its {empty:,} rows has a value that is same or different: expected {_EXPECTED}")
    _check_consistent(list(known.values()), collection)
    write_gold(opened, pa.Table.from_pylist(list(known.values()), schema=GOLD.schema))
    return GoldImported(file=file, read=read, gold=len(known), rejected=rejected)


def _pair(row: Row, numbers: Mapping[str, int], collection: Collection, workspace: str) -> tuple[int, int, float] | None:
    word = said(row.get("value"))
    value = SAME_QUESTION.read(word) if word else None
    if value is None:
        return None
    if value not in (0.0, 1.0):
        raise InputError(f"a gold pair is same or different, not {value}")
    elsewhere = text(row.get("workspace"), "workspace") not in ("", workspace)
    u, v = (_item(row, side, numbers, collection, elsewhere=elsewhere) for side in ("u", "v"))
    if u == v:
        raise InputError(f"a pair has two items, not {collection.ids[u]!r} twice")
    return min(u, v), max(u, v), value


def _item(row: Row, side: str, numbers: Mapping[str, int], collection: Collection, *, elsewhere: bool) -> int:
    """The item of a side: by its name, which holds in every workspace, or by its number, which holds in its own."""
    name = text(row.get(f"id_{side}"), f"id_{side}")
    if name and name not in numbers:
        raise InputError(f"there is no item {shortened(name)}")
    if elsewhere or not text(row.get(side), side):
        if not name:
            other = f"; {side} is the number of another workspace's item" if elsewhere else ""
            raise InputError(f"neither id_{side} nor {side} names an item{other}")
        return numbers[name]
    item = whole(row[side], side)
    if not 0 <= item < collection.items:
        raise InputError(f"there is no item {item}: the collection has the items 0 to {collection.items - 1}")
    if name and numbers[name] != item:
        raise InputError(f"id_{side} is item {numbers[name]}, and {side} says {item}: leave out the one that is wrong")
    return item


def _check_consistent(rows: list[Row], collection: Collection) -> None:
    truth = Constraints()
    for row in rows:
        if not truth.add(row["u"], row["v"], row["value"], f"{row['u']} {row['v']}"):
            first, second = collection.ids[row["u"]], collection.ids[row["v"]]
            raise InputError(f"the gold pairs contradict each other at {first!r} and {second!r}: nothing was imported")
