"""Of a Camtrap DP package: where its media lie, and which observations of whole events they belong to.

Packages of Agouti and others name pictures by their address on the web. cccount fetches nothing: it takes the copies that lie
beside the package, by their file names. An observation of an event is about every medium of its deployment that was taken from
`eventStart` to `eventEnd`. Time: O((media + events) log events) but where events lie one over the other.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from cccount_dist.embedding.readers.table import parse_time, resolve
from storage.errors import InputError

Record = Mapping[str, object]
_WEB = ("http://", "https://")
MEDIA = "media"  # the folder beside the tables in which copies are looked for


def is_animal(observation: Record) -> bool:
    """Whether an observation is of an animal; one that does not say what it is of may be."""
    return observation.get("observationType") in (None, "", "animal")


class Places:
    """Says where the file of a medium is."""

    def __init__(self, folder: Path, media: Iterable[Record]) -> None:
        self._folder, self._root = folder, folder.resolve()
        self._times = Counter(str(medium.get("fileName") or "") for medium in media)

    def of(self, medium: Record, where: str) -> str:
        """The path of a medium; `InputError` if it is on the web and no copy lies beside the package."""
        given = str(medium.get("filePath") or "")
        if not given.startswith(_WEB):
            return resolve(given, self._root, where)
        name, deployment = str(medium.get("fileName") or ""), str(medium.get("deploymentID") or "")
        if not name or {"/", "\\"} & set(name) or name in (".", ".."):
            raise InputError(f"{where}: {given:.300} is on the web, and no fileName says what its copy here would be called")
        alone = self._times[name] == 1
        tried = [f"{MEDIA}/{deployment}/{name}"] if deployment and "/" not in deployment and ".." not in deployment else []
        tried += [f"{MEDIA}/{name}", name] if alone else []
        for place in tried:
            if (self._root / place).is_file():
                return f"{self._root}/{place}"
        copy = f"{self._folder}/{tried[1] if alone and len(tried) > 1 else tried[0] if tried else MEDIA}"
        raise InputError(f"{where}: {given:.300} is on the web, and cccount fetches nothing: put a copy of it at {copy:.300}")


class Events:
    """The observations of whole events, by deployment and time."""

    def __init__(self, observations: Iterable[Record], table: str) -> None:
        found = defaultdict[str, list[tuple[datetime, datetime, Record]]](list)
        for one in observations:
            where = f"{table}, observation {one.get('observationID')}"
            start, end = (parse_time(one.get(name), where) for name in ("eventStart", "eventEnd"))
            if start is not None and end is not None:
                found[str(one.get("deploymentID"))].append((start, end, one))
        self._of = {name: sorted(rows, key=lambda row: row[:2]) for name, rows in found.items()}
        self._starts = {name: [row[0] for row in rows] for name, rows in self._of.items()}
        self._longest = {name: max(end - start for start, end, _ in rows) for name, rows in self._of.items()}

    def only(self, medium: Record, where: str) -> Record | None:
        """The observation of an event that a medium belongs to, if there is just one, and of one animal."""
        name, moment = str(medium.get("deploymentID")), parse_time(medium.get("timestamp"), where)
        if moment is None or name not in self._of:
            return None
        rows, last = self._of[name], bisect_right(self._starts[name], moment)
        covering: list[Record] = []
        for start, end, one in reversed(rows[:last]):
            if start < moment - self._longest[name] or len(covering) > 1:
                break
            if end >= moment:
                covering.append(one)
        if len(covering) != 1 or str(covering[0].get("count") or "1") != "1":
            return None
        return covering[0]


__all__ = ["MEDIA", "Events", "Places", "is_animal"]
