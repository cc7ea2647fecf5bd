"""`cccount pack`: open questions and their pictures as one HTML file, for whoever answers without a network.

Reads only, and leases nothing: who answers the same question elsewhere meanwhile gives it one more vote. Memory: the pictures,
some ten kilobytes each.
"""

import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from cccount_dist.campaign import Campaign
from cccount_dist.embedding.images import UnreadableImageError
from cccount_dist.review.images import encoded
from cccount_dist.review.models import CandidateInfo, ItemInfo, SheetInfo
from cccount_dist.review.pack import pack_page
from cccount_dist.sampling.types import Question
from flows.progress import progress
from storage.collection import Collection
from storage.errors import InputError, StoreError
from storage.workspace import Workspace

_QUALITY = 80


def write_pack(workspace: str, campaign: str, count: int, file: str, *, annotator: str, side: int) -> dict[str, Any]:
    """Write the pack and return what is in it."""
    if count < 1:
        raise InputError(f"--count must be at least 1, not {count}")
    if not 32 <= side <= 4096:
        raise InputError(f"--side must lie between 32 and 4096 pixels, not {side}")
    if Path(file).suffix not in (".html", ".htm"):
        raise InputError(f"{file}: a pack is one file that ends with .html")
    collection = Workspace.open(workspace).collection()
    questions = Campaign.open(workspace, campaign).ask(count, annotator=annotator)
    if not questions:
        raise InputError(f"campaign {campaign!r} has no open question now: `cccount advance` may ask new ones")
    sheets = [_sheet(look, collection) for look in _looks(questions)]
    pictures = _pictures(sorted({item for q in questions for item in (q.u, q.v)}), collection, side)
    page = pack_page(pack_id=uuid.uuid4().hex, campaign=campaign, annotator=annotator, sheets=sheets, pictures=pictures)
    try:
        Path(file).write_text(page, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror}") from error
    return {
        "workspace": workspace,
        "campaign": campaign,
        "file": file,
        "questions": len(questions),
        "sheets": len(sheets),
        "pictures": len(pictures),
        "bytes": len(page.encode()),
    }


def _looks(questions: list[Question]) -> list[list[Question]]:
    """Questions of one page together, the others one by one."""
    looks: dict[object, list[Question]] = {}
    for question in questions:
        looks.setdefault(("question", question.id) if question.page is None else ("page", question.page), []).append(question)
    return list(looks.values())


def _sheet(look: list[Question], collection: Collection) -> SheetInfo:
    first = look[0]
    return SheetInfo(
        id=str(first.id),
        kind="rating" if first.kind == "rating" else "pair" if first.page is None else "grid",
        anchor=_item(first.u, collection),
        candidates=[CandidateInfo(question_id=q.id, item=_item(q.v, collection)) for q in look],
        expires_in=0.0,
    )


def _item(item: int, collection: Collection) -> ItemInfo:
    row = collection.table.slice(item, 1)
    return ItemInfo(
        item=item,
        name=collection.ids[item],
        group=row.column("group")[0].as_py(),
        taken_at=row.column("taken_at")[0].as_py(),
        picture=None,
    )


def _pictures(items: list[int], collection: Collection, side: int) -> dict[int, tuple[str, bytes]]:
    """The pictures that can be had: an item without one is shown as such."""
    found: dict[int, tuple[str, bytes]] = {}
    with progress("Pictures", len(items), "images") as update:
        for done, item in enumerate(items, start=1):
            uri = collection.uri(item)
            if uri is not None:
                with suppress(UnreadableImageError):
                    found[item] = encoded(uri, side, quality=_QUALITY)
            update(done)
    return found
