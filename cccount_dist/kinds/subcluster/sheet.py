"""Gathers the contact sheet of a subclustering campaign, and says which subcluster an image is most like.

Reads only. Memory: the collection table, and the small pictures of all subclusters.
"""

from dataclasses import replace
from datetime import UTC, datetime

from cccount_dist.campaign.noun import noun_of
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.embedding.images import UnreadableImageError, load_image
from cccount_dist.kinds.subcluster.browse import Finder, Match, Shown, copies_among, read_subclusters
from cccount_dist.report.contact import SUBCLUSTER, ContactFacts, Picture, contact_sheet
from cccount_dist.report.thumbnails import thumbnail
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.errors import InputError
from storage.schema import SUBCLUSTERINGS
from storage.version import __version__

SIDE = 112  # pixels of a small picture: a sheet of 2,000 stays below about 10 MB
MOST_ITEMS = 50_000  # whose nearest subcluster is written into the page


def sheet_of(folder: CampaignFolder, collection: Collection, price: float | None = None, progress: Progressing = silent) -> bytes:
    """Return the contact sheet: one self-contained HTML file. `price` is that of a question."""
    subclusters = read_subclusters(folder)
    finder = Finder(folder.workspace, subclusters)
    return contact_sheet(replace(_facts(folder, collection, subclusters, finder, progress), price=price)).encode()


def most_like(folder: CampaignFolder, *, item: str | None = None, image: str | None = None) -> list[Match]:
    """Return the subclusters that an item (by its id) or a picture (a file) is most like; nothing if neither is given."""
    if item is not None and image is not None:
        raise InputError("--item and --image are two ways to search: give one of them")
    if item is None and image is None:
        return []
    finder = Finder(folder.workspace, read_subclusters(folder))
    if item is not None:
        return finder.of_item(item)
    try:
        return finder.of_picture(load_image(str(image)))
    except UnreadableImageError as error:
        raise InputError(f"{image}: {error}") from error


def _facts(
    folder: CampaignFolder, collection: Collection, subclusters: list[list[Shown]], finder: Finder, progress: Progressing
) -> ContactFacts:
    last = folder.last_row(SUBCLUSTERINGS) or {"questions": 0, "state": "running"}
    nearest = dict(zip(collection.ids, finder.of_all().tolist(), strict=True)) if collection.items <= MOST_ITEMS else {}
    return ContactFacts(
        campaign=folder.name,
        size=int(folder.settings().parameters["size"]),
        questions=last["questions"],
        state=last["state"],
        subclusters=_pictures(collection, subclusters, progress),
        nearest=nearest,
        items=collection.items,
        noun=noun_of(folder.goal(), SUBCLUSTER),
        version=__version__,
        written_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        epochs=folder.epochs(),
    )


def _pictures(collection: Collection, subclusters: list[list[Shown]], progress: Progressing) -> list[list[Picture]]:
    found: list[list[Picture]] = []
    copies = copies_among(collection, subclusters)
    with progress("Thumbnails", sum(map(len, subclusters)), "images") as update:
        for done, row in enumerate(subclusters):
            found.append(
                [Picture(thumbnail(s.id, collection.uri(s.item), side=SIDE), s.checked, copies.get(s.item)) for s in row]
            )
            update(sum(map(len, subclusters[: done + 1])))
    return found


__all__ = ["most_like", "sheet_of"]
