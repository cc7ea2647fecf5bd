"""What can be computed again and takes long, kept beside a campaign: small JSON documents, and blobs named by their digest.

Blobs first, the document last: killed anywhere, the old document is there, or none, and every blob that it names. A blob that is
there already is not written again; those that no document names are removed. Nothing here is ever the truth. Cost: the bytes
that are new.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from storage.errors import CorruptionError, MissingObjectError
from storage.objects import Objects
from storage.problems import Problem
from storage.stamp import intact, stamped
from storage.stored import Place, Stored

FOLDER = "snapshot"
BLOBS = "blobs"  # member of a document: the names of its blobs
_NAME = re.compile(r"[0-9a-f]{40}")
Blob = tuple[str, bytes | memoryview]


class Snapshots:
    """`snapshot/` of a campaign."""

    def __init__(self, objects: Objects, prefix: str) -> None:
        self._objects = objects
        self._top = f"{prefix}/{FOLDER}"

    def read(self, name: str) -> dict[str, Any] | None:
        """Return a document; None if there is none, or it is damaged."""
        try:
            data = self._objects.read(f"{self._top}/{name}.json")
        except MissingObjectError:
            return None
        if intact(data) is not True:
            return None
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def blob(self, name: str) -> bytes:
        """Return a blob, whose content the caller checks; a name that is no digest is refused."""
        return self._objects.read(self._checked_key(name))

    def blob_into(self, name: str, room: memoryview) -> int:
        """Read a blob to a place in memory, as much as has room; return how much that was. As for `blob` otherwise."""
        return self._objects.read_into(self._checked_key(name), room)

    def write(self, name: str, blobs: Iterable[Blob], document: Callable[[], dict[str, Any]], *, anew: bool = False) -> None:
        """Write a document and its blobs. `document` is called when all blobs are written; `anew`: those there may be damaged."""
        there = set(self._objects.keys(f"{self._top}/data"))
        for digest, data in blobs:
            if anew or self._key(digest) not in there or self._objects.size(self._key(digest)) != len(data):
                self._objects.replace(self._key(digest), bytes(data))
                there.add(self._key(digest))
        content = document()
        self._objects.replace(f"{self._top}/{name}.json", stamped("a.json", json.dumps(content, separators=(",", ":")).encode()))
        if BLOBS in content:
            for key in there - self._used():
                self._objects.delete(key)

    def remove(self, name: str) -> None:
        self._objects.delete(f"{self._top}/{name}.json")

    def _used(self) -> set[str]:
        """The blobs that some document names."""
        names = [key.rpartition("/")[2].removesuffix(".json") for key in self._objects.keys(self._top) if key.endswith(".json")]
        documents = [found for name in names if (found := self.read(name)) is not None]
        return {self._key(str(digest)) for document in documents for digest in document.get(BLOBS, ())}

    def _checked_key(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise CorruptionError(f"{name!r} is no name of a blob")
        return self._key(name)

    def _key(self, digest: str) -> str:
        return f"{self._top}/data/{digest}.bin"


def check_document(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """A document is what was written, and its blobs are there."""
    for key in keys:
        try:
            data = place.objects.read(key)
        except MissingObjectError:
            continue
        try:
            names = list(json.loads(data).get(BLOBS, ()))
        except (ValueError, AttributeError, TypeError, RecursionError):
            names = None
        if intact(data) is False or names is None:
            yield stored.problem(place, key, "its bytes are not those that were written")
            continue
        top = key.rpartition("/")[0]
        missing = [blob for name in names if (blob := f"{top}/data/{name}.bin") not in place.keys]
        yield from (Problem(place.where(blob), "the file is missing", f"delete {key}: {stored.remedy}") for blob in missing[:1])


def check_blob(place: Place, stored: Stored, keys: Sequence[str]) -> Iterator[Problem]:
    """A blob is named after its content."""
    for key in keys:
        try:
            data = place.objects.read(key)
        except MissingObjectError:
            continue
        if hashlib.blake2b(data, digest_size=20).hexdigest() != key.rpartition("/")[2].removesuffix(".bin"):
            yield stored.problem(place, key, "its bytes are not those that were written")


__all__ = ["BLOBS", "FOLDER", "Snapshots", "check_blob", "check_document"]
