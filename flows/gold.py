"""`cccount gold import`: pairs whose answer is known, from a file, for checking people.

Rows are `id_u, id_v, value` (or the item numbers `u, v`); what answers export writes can be used as it is. Pairs that were
imported before are replaced; a row that cannot be one is named with its line, and the rest is kept.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa

from cccount_dist.sampling.constraints import Constraints
from flows.answerfiles import Row, read_rows
from flows.answers import parse_value
from storage.collection import Collection
from storage.errors import InputError
from storage.gold import read_gold, write_gold
from storage.schema import GOLD
from storage.workspace import Workspace


def import_gold(workspace: str, file: str) -> dict[str, Any]:
    """Read gold pairs into the workspace, and return how many it has now."""
    opened = Workspace.open(workspace)
    collection = opened.collection()
    numbers = {name: item for item, name in enumerate(collection.ids)}
    known = {(row["u"], row["v"]): row for row in read_gold(opened).to_pylist()}
    rejected = []
    read = 0
    for line, row in read_rows(Path(file)):
        try:
            if (found := _pair(row, numbers, collection)) is not None:
                u, v, value = found
                known[u, v] = {"u": u, "v": v, "value": value, "origin": Path(file).name}
                read += 1
        except InputError as error:
            rejected.append({"line": line, "reason": str(error)})
    _check_consistent(list(known.values()), collection)
    write_gold(opened, pa.Table.from_pylist(list(known.values()), schema=GOLD.schema))
    return {"file": file, "read": read, "gold": len(known), "rejected": rejected}


def _pair(row: Row, numbers: dict[str, int], collection: Collection) -> tuple[int, int, float] | None:
    value = parse_value(row.get("value"))
    if value is None:
        return None
    if value not in (0.0, 1.0):
        raise InputError(f"a gold pair is same or different, not {value}")
    u, v = (_item(row, side, numbers, collection) for side in ("u", "v"))
    if u == v:
        raise InputError(f"a pair has two items, not {collection.ids[u]!r} twice")
    return min(u, v), max(u, v), value


def _item(row: Row, side: str, numbers: dict[str, int], collection: Collection) -> int:
    if (name := row.get(f"id_{side}")) not in (None, ""):
        if str(name) not in numbers:
            raise InputError(f"there is no item {name!r}")
        return numbers[str(name)]
    try:
        item = int(row[side])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"neither id_{side} nor {side} names an item") from error
    if not 0 <= item < collection.items:
        raise InputError(f"there is no item {item}: the collection has the items 0 to {collection.items - 1}")
    return item


def _check_consistent(rows: list[dict[str, Any]], collection: Collection) -> None:
    truth = Constraints()
    for row in rows:
        if not truth.add(row["u"], row["v"], row["value"], f"{row['u']} {row['v']}"):
            first, second = collection.ids[row["u"]], collection.ids[row["v"]]
            raise InputError(f"the gold pairs contradict each other at {first!r} and {second!r}: nothing was imported")
