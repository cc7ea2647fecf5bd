"""What a page for browsing shows: every subcluster with its images, and which subcluster a given image is most like.

The similarity of an image to a subcluster is that to its most similar image. One search takes O(K n d); the nearest subcluster of
every item, for the page that needs no server, O(items K n d), block by block. Memory O(K n d + items).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.campaign.inputs import load_inputs
from cccount_dist.embedding.copies import exact_copies
from cccount_dist.embedding.images import decode
from cccount_dist.similarity.metrics import Metric, check_metric, prepare
from cccount_dist.subclustering.methods import KIND
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.errors import ComputeError, InputError, WorkspaceError
from storage.schema import DEGREE, EMBEDDINGS, SUBCLUSTERS
from storage.workspace import Workspace

_BLOCK = 8192
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shown:
    """An image of a subcluster; the first one is its centroid."""

    item: int
    id: str
    checked: bool


@dataclass(frozen=True, slots=True)
class Match:
    """A subcluster, and how similar its most similar image is."""

    subcluster: int
    item: int
    similarity: float


def read_subclusters(folder: CampaignFolder) -> list[list[Shown]]:
    """Return the subclusters of a campaign, each with its centroid first."""
    kind = folder.settings().kind
    if kind != KIND:
        raise InputError(f"campaign {folder.name!r} is a {kind} campaign: only subclusters can be browsed")
    table = folder.read_table(SUBCLUSTERS)
    found: list[list[Shown]] = []
    columns = [table.column(name).to_pylist() for name in ("subcluster", "item", "id", "checked")]
    for subcluster, item, name, checked in zip(*columns, strict=True):
        while len(found) <= subcluster:
            found.append([])
        found[subcluster].append(Shown(item, name, checked))
    if not found:
        raise WorkspaceError(f"campaign {folder.name!r} has no result yet: run `cccount advance --campaign {folder.name}` first")
    return found


def copies_among(collection: Collection, subclusters: Sequence[Sequence[Shown]]) -> dict[int, str]:
    """Return the items that are shown and whose file is an exact copy of another that is shown, and the name of that one."""
    shown = [one for row in subclusters for one in row]
    groups = exact_copies(collection.uri(one.item) for one in shown)
    return {shown[place].item: shown[first].id for first, *others in groups for place in others}


def browsable(workspace: Workspace) -> list[str]:
    """The campaigns that have subclusters to show."""
    return [name for name in workspace.campaigns() if CampaignFolder(workspace, name).settings().kind == KIND]


class Finder:
    """Finds the subcluster that an image is most like."""

    def __init__(self, workspace: Workspace, subclusters: Sequence[Sequence[Shown]]) -> None:
        self._workspace = workspace
        inputs = load_inputs(workspace)
        self._vectors: Vectors = inputs.vectors
        self._mean_square = inputs.mean_square
        self._items = np.array([shown.item for row in subclusters for shown in row], np.int64)
        self._subcluster = np.repeat(np.arange(len(subclusters)), [len(row) for row in subclusters])
        self._rows = np.asarray(self._vectors[self._items])

    def of_item(self, item_id: str, limit: int = 5) -> list[Match]:
        """Return the subclusters that an item of the collection is most like, most similar first."""
        ids = self._workspace.collection().ids
        if item_id not in ids:
            raise InputError(f"no item of the collection has the id {item_id!r}: give an id as the page shows it")
        return self._ranked(np.asarray(self._vectors[ids.index(item_id)]), limit)

    def of_picture(self, picture: NDArray[np.uint8], limit: int = 5) -> list[Match]:
        """Return the same for any picture (h, w, 3)."""
        return self._ranked(encoded_picture(self._workspace, picture), limit)

    def of_file(self, data: bytes, limit: int = 5) -> list[Match]:
        """Return the same for an encoded image, decoded to the size that the encoder looks at."""
        return self._ranked(encoded_picture(self._workspace, data), limit)

    def of_all(self) -> NDArray[np.int64]:
        """Return the most similar subcluster of every item; -1 for one without a vector."""
        found = np.empty(len(self._vectors), np.int64)
        for start in range(0, len(self._vectors), _BLOCK):
            block = np.asarray(self._vectors[start : start + _BLOCK])
            missing = ~np.isfinite(block).all(axis=1)
            similarity = self._similarities(np.nan_to_num(block))
            found[start : start + _BLOCK] = np.where(missing, -1, self._subcluster[similarity.argmax(axis=1)])
        return found

    def _similarities(self, vectors: Vectors) -> Vectors:
        """Return the similarities of vectors (m, d) to all that are shown (m, shown), as those of the neighbours."""
        products = vectors @ self._rows.T
        if not self._mean_square:
            return products
        lengths = [np.square(rows).sum(axis=1) for rows in (vectors, self._rows)]
        away: Vectors = lengths[0][:, None] + lengths[1] - 2 * products
        return 1 - away / np.float32(self._mean_square)

    def _ranked(self, vector: Vectors, limit: int) -> list[Match]:
        if not np.isfinite(vector).all():
            raise InputError("this image has no vector: it could not be read when the collection was embedded")
        similarity = self._similarities(vector[None])[0].astype(np.float64)
        matches: dict[int, Match] = {}
        for at in np.argsort(-similarity, kind="stable").tolist():
            number = int(self._subcluster[at])
            matches.setdefault(number, Match(number, int(self._items[at]), float(similarity[at])))
            if len(matches) == limit:
                break
        return list(matches.values())


def encoded_picture(workspace: Workspace, picture: NDArray[np.uint8] | bytes) -> Vectors:
    """Return the vector of a picture, or of an encoded image, made as those of the collection were."""
    from cccount_dist.embedding.encoders import open_encoder  # heavy, and only for searching by picture
    from cccount_dist.embedding.projection import projection_of

    attributes = dict(workspace.array(EMBEDDINGS).attributes)
    name = str(attributes["encoder"])
    if name in ("given", "distances"):
        raise InputError(f"{workspace.location} was made from given vectors, not from images: search by the id of an item")
    encoder = open_encoder(name)
    if encoder.revision != attributes["revision"]:
        raise ComputeError(f"this machine has another revision of {name} than the collection was embedded with: search by item")
    vector = encoder.encode([decode(picture, side=encoder.side) if isinstance(picture, bytes) else picture])
    if attributes.get("components") is not None:
        vector = projection_of(workspace).apply(vector)
    prepared: Vectors = prepare(vector, _metric(workspace))[0]
    return prepared


def _metric(workspace: Workspace) -> Metric:
    return check_metric(str(workspace.array(DEGREE).attributes["metric"]))
