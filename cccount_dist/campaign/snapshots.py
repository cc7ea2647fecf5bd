"""Where a sampler stands after its answers, kept beside the campaign: opening it costs what came since, not a replay of the log.

A snapshot is never the truth. It is taken only if everything that decides the sampler is the same (settings, inputs, the code
that decides questions, the libraries that it computes with) and the log begins with the very rows that the snapshot rests on;
otherwise, and if a byte of it is damaged, the log is replayed as if it was not there. It is written when that saves more than it
costs. Time and memory: the sampler's own state; vectors and neighbours are referred to.
"""

import hashlib
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cccount_dist.sampling.freezing import freeze
from cccount_dist.sampling.frozen import DECIDING, UnfrozenError
from cccount_dist.sampling.methods import find_method
from cccount_dist.sampling.packing import Lying, Packing, unpacked
from cccount_dist.sampling.thawing import thaw
from cccount_dist.sampling.types import Sampler
from storage.campaigns import CampaignFolder
from storage.errors import CccountError, StoreError
from storage.settings import Settings
from storage.snapshots import BLOBS

FORMAT = 2
NAME = "sampler"
SUMS = "sums"  # member of a document: those of its blobs
PREPARED = "prepared"  # a sampler that was told nothing yet: what it has computed from vectors and neighbours alone
WORTH_SECONDS = 0.5  # of replay that a snapshot must save; each later step saves them, so never less than it takes to write it
_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
_DAMAGE = (CccountError, ValueError, TypeError, LookupError, AttributeError, OverflowError, MemoryError)


@dataclass(frozen=True, slots=True)
class Kept:
    """A sampler out of a snapshot, and how far in the log it stands: so many answers told, and so many rounds asked."""

    sampler: Sampler[Any]
    answers: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Packed:
    """A sampler on its way from a worker: a document and its blobs."""

    document: dict[str, Any]
    blobs: list[tuple[str, bytes]]


class SamplerSnapshots:
    """The snapshot of one campaign. `given`: what its sampler is made from, by name; always the same objects."""

    def __init__(
        self, folder: CampaignFolder, given: Mapping[str, object], fingerprints: Mapping[str, str], epoch: int = 0
    ) -> None:
        self._folder = folder
        self._given = given
        settings = folder.settings()
        self._rooms = plugin_rooms(settings)
        files = {name: Path(str(thing.filename)).name for name, thing in given.items() if isinstance(thing, np.memmap)}
        self._key = {
            "format": FORMAT,
            **deciding(settings),
            "campaign": folder.name,
            "epoch": epoch,
            "settings": digest_of(settings.to_toml()),
            "inputs": {**files, **fingerprints},  # the name of a row cache carries the fingerprint of its array
        }
        self._stored: tuple[int, int] | None = None  # answers and rounds of the one that is there
        self._anew = False  # blobs that are there may be damaged
        self._took = 0.0  # seconds that the last one took to write
        self._work = 0.0  # seconds that a replay since then would take
        self._hopeless = False
        self._lying = Lying()  # what was read from the one that is there

    def load(self) -> Kept | None:
        """Return the sampler of the snapshot; None if there is none that fits."""
        document = self._folder.snapshots.read(NAME)
        if document is None:
            return None
        try:
            if document["key"] != self._key or not self._fits(document):
                return None
            sampler = self._thawed(document)
            self._stored = int(document["answers"]), int(document["rounds"])
            self._took = float(document["took"])
            return Kept(sampler, *self._stored)
        except _DAMAGE:
            self._stored, self._anew = None, True
            return None

    def _fits(self, document: Mapping[str, Any]) -> bool:
        """Whether the log begins with the rows that the snapshot rests on."""
        log = self._folder.log
        chain, asked = log.digest_at(int(document["answers"])), log.asked_digest(int(document["questions"]))
        return chain is not None and asked is not None and (chain, asked) == (document["chain"], document["asked"])

    def prepared(self) -> Sampler[Any] | None:
        """Return a sampler that was told nothing, as it was prepared before; None if none that fits is kept."""
        document = self._folder.snapshots.read(PREPARED)
        if document is None or document.get("key") != self._key:
            return None
        try:
            return self._thawed(document)
        except _DAMAGE:
            self._anew = True
            return None

    def keep_prepared(self, sampler: Sampler[Any], took: float) -> None:
        """Keep a sampler that was told nothing, if it took long to prepare."""
        if took > WORTH_SECONDS:
            self._write(PREPARED, sampler, {})

    def lacks_prepared(self) -> bool:
        """Whether a step would have to prepare a sampler: none that fits is kept, prepared or further."""
        kept = [self._folder.snapshots.read(name) for name in (PREPARED, NAME)]
        return not any(document is not None and document.get("key") == self._key for document in kept)

    def packed(self, sampler: Sampler[Any]) -> "Packed | None":
        """Return a sampler that was told nothing as it would be kept, to be taken by `take_prepared` elsewhere."""
        try:
            frozen = freeze(sampler, self._given, self._rooms)
        except UnfrozenError:
            return None
        packing = Packing(frozen)
        blobs = [(name, bytes(data)) for name, data in packing.blobs()]
        return Packed(self._document(packing, 0.0, {}), blobs)

    def take_prepared(self, packed: "Packed") -> bool:
        """Keep what was prepared elsewhere; False if that was done by other code, or from other inputs."""
        if packed.document.get("key") != self._key:
            return False
        self._folder.snapshots.write(PREPARED, packed.blobs, lambda: packed.document)
        return True

    def worked(self, seconds: float) -> None:
        """Say how long the sampler took for what came since the snapshot."""
        self._work += seconds

    def save(self, sampler: Sampler[Any], answers: int, rounds: int, questions: int) -> None:
        """Write a snapshot if it is worth it: the sampler was told so many rows of the log, and asked so many rounds."""
        if self._hopeless or self._stored == (answers, rounds) or self._work <= max(WORTH_SECONDS, self._took):
            return
        log = self._folder.log
        chain, asked = log.digest_at(answers), log.asked_digest(questions)
        if chain is None or asked is None:
            return
        place = {"answers": answers, "chain": chain, "rounds": rounds, "questions": questions, "asked": asked}
        if (took := self._write(NAME, sampler, place)) is not None:
            self._took = took
            self._stored, self._anew, self._work = (answers, rounds), False, 0.0

    def _thawed(self, document: Mapping[str, Any]) -> Sampler[Any]:
        stored = self._folder.snapshots
        frozen = unpacked(document[BLOBS], document[SUMS], stored.blob, self._lying, stored.blob_into)
        sampler: Sampler[Any] = thaw(frozen, self._given, self._rooms)
        return sampler

    def _document(self, packing: Packing, took: float, place: Mapping[str, Any]) -> dict[str, Any]:
        """What is kept of a sampler beside its blobs, all of which must have been taken from the packing."""
        return {"key": self._key, **place, "took": took, BLOBS: packing.names, SUMS: packing.sums}

    def _write(self, name: str, sampler: Sampler[Any], place: Mapping[str, Any]) -> float | None:
        """Write a sampler as a document; return the seconds that it took, None if it could not be."""
        began = time.perf_counter()
        try:
            frozen = freeze(sampler, self._given, self._rooms)
            packing = Packing(frozen, Lying() if self._anew else self._lying)

            def document() -> dict[str, Any]:
                return self._document(packing, time.perf_counter() - began, place)

            self._folder.snapshots.write(name, packing.blobs(), document, anew=self._anew)
        except UnfrozenError:  # a sampler that no snapshot can keep is replayed, as every one could be
            self._hopeless = True
            return None
        except StoreError:  # a full disk: what matters is written already
            return None
        return time.perf_counter() - began


def plugin_rooms(settings: Settings) -> tuple[str, ...]:
    """The package of a method that is not ours."""
    module = find_method(settings.kind, settings.method).build.__module__
    return () if module.startswith("cccount_dist.") else (module.rpartition(".")[0] or module,)


def deciding(settings: Settings) -> dict[str, Any]:
    """What decides a campaign's questions beside its settings and inputs: the code and the libraries that it computes with."""
    return {
        "revision": find_method(settings.kind, settings.method).revision,
        "code": _code(*(_folder_of(room) for room in plugin_rooms(settings))),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: version(name) for name in _LIBRARIES},
    }


def _folder_of(room: str) -> str:
    """Where the source of a plug-in is."""
    module = sys.modules.get(room)
    path = Path(getattr(module, "__file__", None) or "")
    return str(path.parent if path.name == "__init__.py" else path)


@lru_cache(maxsize=16)
def _code(*more: str) -> str:
    """A digest of the source that decides questions: another release never takes a foreign snapshot."""
    top = Path(__file__).parents[1]
    places = [top / room.partition(".")[2] for room in DECIDING] + [Path(one) for one in more]
    digest = hashlib.blake2b(digest_size=16)
    for place in places:
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(f"{path.name}\0".encode() + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()


def digest_of(data: bytes) -> str:
    """A short digest by which two states of a file are told apart."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


__all__ = ["Kept", "Packed", "SamplerSnapshots", "deciding", "digest_of", "plugin_rooms"]
