"""`cccount pack`: open questions and their pictures as one HTML file, for whoever answers without a network.

Has the campaign ask more if fewer questions are open than are wanted. Leases no question: who answers the same one elsewhere
meanwhile gives it one more vote. Memory: the pictures, some ten kilobytes each.
"""

import math
import uuid
from contextlib import suppress
from pathlib import Path

from cccount_dist.campaign.activity import AtTheDesk
from cccount_dist.campaign.advancing import PATIENCE_SECONDS
from cccount_dist.campaign.campaign import Campaign
from cccount_dist.campaign.resident import Resident
from cccount_dist.campaign.responses import check_annotator
from cccount_dist.embedding.images import UnreadableImageError
from cccount_dist.review.desks import campaign_info, shown_as
from cccount_dist.review.encoding import encoded
from cccount_dist.review.models import CandidateInfo, ItemInfo, SheetInfo
from cccount_dist.review.pack import pack_page
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import Question, asked_at_once
from cccount_dist.taken import require_for
from flows.compute.progress import progress
from flows.exchange.outcomes import Packed
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.errors import CccountError, InputError, LeaseError, StoreError
from storage.workspace import Workspace

_QUALITY = 80
_MOST_ON_A_PAGE = 24
_WAITS = "what it asks next follows from the answers to these"


def write_pack(workspace: str, campaign: str, count: int, file: str, *, annotator: str, side: int) -> Packed:
    """Write the pack and return what is in it."""
    if count < 1:
        raise InputError(f"--count must be at least 1, not {count}")
    if not 32 <= side <= 4096:
        raise InputError(f"--side must lie between 32 and 4096 pixels, not {side}")
    check_annotator(annotator)
    if Path(file).suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{file}: a pack is one file that ends with .html")
    opened = Workspace.open(workspace)
    require_for("campaign", opened, campaign)
    collection, asking = opened.collection(), Campaign.open(workspace, campaign)
    questions, note = _whole_pages(asking, count, annotator), None
    if len(questions) < count:
        note = _ask_more(workspace, campaign, count - len(questions))
        questions = _whole_pages(asking, count, annotator)
    if not questions:
        raise InputError(f"campaign {campaign!r} has no open question now: {note or '`cccount advance` may ask new ones'}")
    sheets = [_sheet(look, collection) for look in _looks(questions)]
    pictures = _pictures(sorted({item for q in questions for item in (q.u, q.v)}), collection, side)
    page = pack_page(
        pack_id=uuid.uuid4().hex,
        workspace=opened.uuid,
        campaign=campaign,
        annotator=annotator,
        sheets=sheets,
        pictures=pictures,
        words=campaign_info(CampaignFolder(opened, campaign)),
    )
    try:
        Path(file).write_text(page, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror}") from error
    return Packed(
        workspace=workspace,
        campaign=campaign,
        file=file,
        questions=len(questions),
        sheets=len(sheets),
        pictures=len(pictures),
        bytes=len(page.encode()),
        note=None if len(questions) >= count else f"It holds {len(questions):,} and not {count:,}: {note or _WAITS}",
    )


def _whole_pages(asking: Campaign, count: int, annotator: str) -> list[Question]:
    """So many open questions, and what else is on the page of the last one: a page is not cut in two.

    A pair that they answered before, asked again by another number, is for somebody else, unless there is nothing but such pairs.
    """
    found = asking.ask(len(asking.questions), annotator=annotator)
    found = [q for q in found if q.page is not None or not asking.reading.asks_again(annotator, q)] or found
    first, rest = found[:count], found[count : count + _MOST_ON_A_PAGE]
    page = first[-1].page if first else None
    return first + [question for question in rest if page is not None and question.page == page]


def _ask_more(workspace: str, campaign: str, missing: int) -> str | None:
    """Have the campaign ask more; return why it cannot, if that is known."""
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    if folder.goal().oracle != "people":
        return "its answers do not come from people"
    resident = Resident(workspace, campaign, patience=PATIENCE_SECONDS)
    try:
        resident.supply(AtTheDesk(missing=missing))
        state = resident.conclude()
    except LeaseError:
        return "another process is advancing it just now, try again in a moment"
    except CccountError as error:
        return str(error)
    if state in ("done", "stopped"):
        return f"the campaign is {state}"
    goal, asked = folder.goal(), Campaign(folder)
    ledger = asked.ledger
    left = math.ceil(goal.budget - ledger.questions - ledger.glances * goal.page_cost)
    used_up = left <= asked_at_once(ledger.pending(asked.questions))
    return f"its budget of {goal.budget:,} questions allows no more, raise it with --budget" if used_up else None


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
        kind=shown_as(question_kind(first.kind).sheet_of(first.page), len(look)),
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
