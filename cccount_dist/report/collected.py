"""Gathers what every report shows: facts about the collection, and small pictures of some of its items. Reads only."""

from collections.abc import Iterable

import numpy as np
import pyarrow.compute as pc

from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.report.facts import CollectionFacts, Thumbnail
from cccount_dist.report.thumbnails import SIDE, thumbnail
from storage.collection import Collection
from storage.schema import EMBEDDINGS
from storage.workspace import Workspace

_MOST_FAILED = 20  # failed images that are named


def collection_facts(workspace: Workspace, collection: Collection) -> CollectionFacts:
    """What a report says about the collection."""
    problems = collection.problems()
    vectors = workspace.array(EMBEDDINGS) if workspace.has_array(EMBEDDINGS) else None
    return CollectionFacts(
        items=collection.items,
        failed=len(problems),
        failed_examples=[(collection.ids[item], reason) for item, reason in list(problems.items())[:_MOST_FAILED]],
        encoder=None if vectors is None else str(vectors.attributes["encoder"]),
        dimensions=None if vectors is None else vectors.shape[1],
        truth=_truth(collection),
        has_images=bool(pc.any(pc.is_valid(collection.table.column("uri"))).as_py()),
    )


def _truth(collection: Collection) -> int | None:
    """The number of labels among the items that are counted, if each of them has one."""
    labels = collection.labels()
    if labels is None:
        return None
    counted = labels[pc.is_null(collection.table.column("problem")).to_numpy()]
    return len(np.unique(counted)) if counted.size and counted.min() >= 0 else None


def pictures_of(
    items: Iterable[int], collection: Collection, progress: Progressing = silent, side: int = SIDE
) -> dict[int, Thumbnail]:
    """Return a small picture of each of these items; one image is held at a time."""
    wanted = sorted(set(items))
    pictures: dict[int, Thumbnail] = {}
    with progress("Thumbnails", len(wanted), "images") as update:
        for done, item in enumerate(wanted, start=1):
            pictures[item] = thumbnail(collection.ids[item], collection.uri(item), side=side)
            update(done)
    return pictures
