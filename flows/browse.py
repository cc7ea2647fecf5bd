"""`cccount browse`: write the contact sheet of a subclustering campaign, and say which subcluster an image is most like.

Reads only, except for that file, and needs no lease. Memory: the collection table, and the small pictures of all subclusters.
"""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from cccount_dist.embedding.images import UnreadableImageError, load_image
from cccount_dist.report.contact import ContactFacts, Picture, contact_sheet
from cccount_dist.report.thumbnails import thumbnail
from cccount_dist.subclustering.browse import Finder, Match, Shown, read_subclusters
from flows.progress import progress
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.errors import InputError
from storage.schema import SUBCLUSTERINGS
from storage.version import __version__
from storage.workspace import Workspace

SIDE = 112  # pixels of a small picture: a sheet of 2,000 stays below about 10 MB
MOST_ITEMS = 50_000  # whose nearest subcluster is written into the page


def browse(workspace: str, campaign: str, *, item: str | None = None, image: str | None = None) -> dict[str, Any]:
    """Write the contact sheet; with `item` (an id) or `image` (a file), find the subclusters that it is most like as well."""
    if item is not None and image is not None:
        raise InputError("--item and --image are two ways to search: give one of them")
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    subclusters = read_subclusters(folder)
    finder = Finder(folder.workspace, subclusters)
    matches: list[Match] = []
    if item is not None:
        matches = finder.of_item(item)
    elif image is not None:
        try:
            matches = finder.of_picture(load_image(image))
        except UnreadableImageError as error:
            raise InputError(f"{image}: {error}") from error
    collection = folder.workspace.collection()
    file = folder.write_result("browse.html", contact_sheet(_facts(folder, collection, subclusters, finder)).encode())
    found = [{**asdict(match), "id": collection.ids[match.item]} for match in matches]
    return {"campaign": campaign, "file": file, "subclusters": len(subclusters), "nearest": found}


def _facts(folder: CampaignFolder, collection: Collection, subclusters: list[list[Shown]], finder: Finder) -> ContactFacts:
    last = folder.last_row(SUBCLUSTERINGS) or {"questions": 0, "state": "running"}
    nearest = dict(zip(collection.ids, finder.of_all().tolist(), strict=True)) if collection.items <= MOST_ITEMS else {}
    return ContactFacts(
        campaign=folder.name,
        size=int(folder.settings().parameters["size"]),
        questions=last["questions"],
        state=last["state"],
        subclusters=_pictures(collection, subclusters),
        nearest=nearest,
        items=collection.items,
        version=__version__,
        written_at=f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
    )


def _pictures(collection: Collection, subclusters: list[list[Shown]]) -> list[list[Picture]]:
    found: list[list[Picture]] = []
    with progress("Thumbnails", sum(map(len, subclusters)), "images") as update:
        for done, row in enumerate(subclusters):
            found.append([Picture(thumbnail(s.id, collection.uri(s.item), side=SIDE), s.checked) for s in row])
            update(sum(map(len, subclusters[: done + 1])))
    return found


__all__ = ["browse"]
