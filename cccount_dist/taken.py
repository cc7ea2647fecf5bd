"""What every command takes, declared here once: bytes beyond the process and the mapped vectors; refused where there are fewer.

Upper limits for paths of about a hundred characters; `tests/cccount_dist/test_taken.py` holds them against what is measured, and
`python -m tests.measured` writes the table in docs/evidence/memory.md. What a sampler takes comes on top (`Method.memory`);
what a Dask worker
takes is looked at by `flows/stages/passes.py`. A command that is not here takes the same whatever the collection.
Constant time: sizes are read off the ends of the stored files.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from cccount_dist.room import Size, require_room
from storage.arrays import default_shard_rows
from storage.counted import answers_of_largest, collection_items
from storage.errors import CccountError
from storage.schema import EMBEDDINGS, ENCODED, NEIGHBOR_INDEX, ArraySpec
from storage.workspace import Workspace

_MIB = 2**20
_FEWER = "take a part of the collection (a manifest with fewer rows)"
_LESS = "take a part of the collection, or shorter vectors (`cccount embed --components`)"


@dataclass(frozen=True, slots=True)
class Taken:
    """Bytes that a command takes at most.

    least : whatever the collection is
    item : for each item: a row of the collection, its names, what is made of them
    shard : copies of one shard of vectors that are there at a time; zarr and checks of damage make some
    dimension : for each dimension: blocks of some thousand vectors
    number : for each number of all vectors together
    neighbor : for each stored neighbour of each item
    answer : for each answer of the campaign that has most
    shown : for each picture on the page
    square : for each pair of items
    """

    least: int
    item: int = 0
    shard: int = 0
    dimension: int = 0
    number: int = 0
    neighbor: int = 0
    answer: int = 0
    shown: int = 0
    square: int = 0
    instead: str = _FEWER

    def bytes(self, size: Size) -> int:
        """Return how much that is for a collection of this size."""
        items, dimensions = size.items, size.dimensions
        of_vectors = 4 * self.shard * default_shard_rows(items) * dimensions + self.dimension * dimensions
        of_items = items * (self.item + self.number * dimensions + self.neighbor * size.neighbors)
        return self.least + of_items + of_vectors + self.answer * size.answers + self.shown * size.shown + self.square * items**2


PARSED = 12  # bytes of Python objects for each byte of a JSON document
TAKEN = {
    "init": Taken(48 * _MIB, 1_500),
    "init --embeddings": Taken(96 * _MIB, 700, shard=8, instead=_LESS),
    "init --distances": Taken(112 * _MIB, 700, square=24, instead="take a part of the items"),
    "extend": Taken(64 * _MIB, 2_000),
    "extend --embeddings": Taken(96 * _MIB, 700, shard=9, instead=_LESS),
    "bursts": Taken(40 * _MIB, 1_250, shard=9, dimension=50_000, instead=_LESS),
    "embed": Taken(64 * _MIB, 1_300),
    "neighbors": Taken(64 * _MIB, 1_300),
    "campaign": Taken(128 * _MIB, 1_300, shard=9, answer=2_400, instead=_LESS),
    "status": Taken(56 * _MIB, 1_250, answer=2_400),
    "report": Taken(56 * _MIB, 800, answer=2_400),
    "browse": Taken(40 * _MIB, 900, dimension=100_000, shown=100_000, instead=_LESS),
    "baselines": Taken(256 * _MIB, 1_000, number=12, neighbor=24, instead=_LESS),
    "baselines --size": Taken(256 * _MIB, 1_000, number=12, neighbor=24, square=8, instead="leave --size out"),
    "verify": Taken(40 * _MIB, 1_000, shard=6, answer=1_500),
    "relocate": Taken(48 * _MIB, 2_500),
    "answers export": Taken(32 * _MIB, 750, answer=5_000),
    "answers import": Taken(32 * _MIB, 800, answer=2_800, instead="import the file in parts"),
    "individuals": Taken(64 * _MIB, 2_200, answer=5_000),
    "export": Taken(64 * _MIB, 4_000, answer=5_000),
    "catalogue import": Taken(64 * _MIB, 1_000, answer=3_000, instead="import the file in parts"),
    "facts": Taken(64 * _MIB, 1_000, answer=1_200, instead="bring in fewer at once"),
    "review": Taken(160 * _MIB, 900, answer=3_000),
}

# Of a Dask worker that encodes, beyond itself: the model, its session, two batches of pictures, and an image of 24 megapixels.
ENCODERS = {"pixels": 64 * _MIB, "hog": 64 * _MIB, "efficientnet-lite0": 192 * _MIB, "composite": 256 * _MIB, "given": 0}
_OTHER_ENCODER = 512 * _MIB  # models of other libraries may take more than that: nobody knows before they are loaded
_COPIES = 4  # of a shard of vectors while it is written


def encoding_bytes(encoder: str, items: int, dimensions: int) -> int:
    """Return what one task of `embed` takes at most beyond the worker itself."""
    return ENCODERS.get(encoder, _OTHER_ENCODER) + 4 * _COPIES * default_shard_rows(items) * dimensions


def size_of(workspace: Workspace, campaign: str | None = None) -> Size:
    """Return how much lies in a workspace; of its campaigns the one that is named, or that has most answers."""
    campaigns = [one for one in workspace.campaigns() if campaign in (None, one)]
    return Size(
        collection_items(workspace.objects),
        max(_width(workspace, EMBEDDINGS), _width(workspace, ENCODED)),
        _width(workspace, NEIGHBOR_INDEX),
        answers=answers_of_largest(workspace.objects, campaigns),
    )


def _width(workspace: Workspace, spec: ArraySpec) -> int:
    """How many numbers a row of an array has; 0 where there is none, or it is damaged: whoever reads it says so."""
    try:
        shape = workspace.array(spec).shape if workspace.has_array(spec) else ()
    except CccountError:
        return 0
    return shape[1] if len(shape) > 1 else 0


def require(command: str, size: Size) -> None:
    """Raise `ComputeError` if a command cannot have the memory that it would take: before it reads or writes anything."""
    taken = TAKEN[command]
    require_room(command, taken.bytes, size, instead=taken.instead)


def require_document(command: str, path: Path) -> None:
    """Raise `ComputeError` for a JSON document that is read whole, and becomes more than there is memory for."""
    written = path.stat().st_size
    require_room(
        f"{command} with {path.name} of {written / _MIB:,.0f} MiB", lambda _: PARSED * written, Size(0),
        instead="write it as rows (.csv, .parquet or .jsonl)",
    )  # fmt: skip


def require_for(command: str, workspace: Workspace, campaign: str | None = None, *, more_answers: int = 0) -> None:
    """Raise `ComputeError` if a command on this workspace cannot have the memory that it would take."""
    size = size_of(workspace, campaign)
    require(command, replace(size, answers=size.answers + more_answers))


__all__ = ["ENCODERS", "PARSED", "TAKEN", "Taken", "encoding_bytes", "require", "require_document", "require_for", "size_of"]
