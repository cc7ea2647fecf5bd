"""`cccount report`: gather what a workspace knows about a campaign, and write it as one self-contained report.html.

Reads only, except for that file, and needs no lease: a campaign may go on meanwhile. Memory: the collection table and the answer
log; of the images, one at a time.
"""

import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cccount_dist.campaign import Campaign
from cccount_dist.counting.runner import DETAILS
from cccount_dist.report.chart import MOST_POINTS
from cccount_dist.report.facts import CollectionFacts, CountFacts, Estimate, Forecast, JudgedPair, Thumbnail, Way
from cccount_dist.report.groups import groups_page
from cccount_dist.report.page import report_page
from cccount_dist.report.pairs import choose_pairs
from cccount_dist.report.thumbnails import thumbnail
from cccount_dist.report.wording import WAYS, thinned
from cccount_dist.sampling.ledger import INFERRED, LoggedAnswer
from flows.browse import browse
from flows.groupreport import gather_grouping
from flows.progress import progress
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.errors import InputError
from storage.schema import EMBEDDINGS, ESTIMATES, GROUPINGS
from storage.version import __version__
from storage.workspace import Workspace

_MOST_FAILED = 20  # failed images that are named


def write_reports(workspace: str, campaign: str | None, price: float | None = None) -> dict[str, Any]:
    """Write the report of one campaign, or of all, and return where they are; `price` is that of a question."""
    if price is not None and not 0.0 <= price < math.inf:
        raise InputError(f"--price must be 0 or more, not {price}")
    opened = Workspace.open(workspace)
    collection = opened.collection()
    folders = [CampaignFolder(opened, name) for name in (opened.campaigns() if campaign is None else [campaign])]
    return {"files": [_write(folder, collection, price) for folder in folders]}


def refresh_report(workspace: str, campaign: str) -> str | None:
    """Write the report of a campaign if its result rests on other answers than the report says; return where it is.

    None for a subclustering: its pictures are many, and `cccount browse` shows them when somebody wants to look.
    """
    opened = Workspace.open(workspace)
    folder = CampaignFolder(opened, campaign)
    if folder.settings().kind == "subcluster":
        return None
    key = f"{folder.prefix}/results/report.html"
    if opened.objects.size(key) is not None and opened.objects.read(key).endswith(_mark(folder)):
        return f"{opened.location}/{key}"
    return _write(folder, opened.collection())


def _write(folder: CampaignFolder, collection: Collection, price: float | None = None) -> str:
    kind = folder.settings().kind
    if kind == "subcluster":
        return str(browse(folder.workspace.location, folder.name)["file"])
    mark = _mark(folder)  # before the answers are read: if some come meanwhile, the report is written once more
    if kind == "cluster":
        page = groups_page(gather_grouping(folder, collection, _collection(folder.workspace, collection), price))
    else:
        page = report_page(gather(folder, collection))
    return folder.write_result("report.html", page.encode() + mark)


def _mark(folder: CampaignFolder) -> bytes:
    """The end of a report, by which it is known later which result it shows."""
    last = folder.last_row(GROUPINGS if folder.settings().kind == "cluster" else ESTIMATES)
    return b"" if last is None else f"\n<!-- {last['answers']} answers, {last['state']}, cccount {__version__} -->\n".encode()


def gather(folder: CampaignFolder, collection: Collection) -> CountFacts:
    """Return everything that the report of this campaign says."""
    opened = Campaign(folder)
    settings, ledger, questions = opened.settings, opened.ledger, opened.questions
    settled = [row for question in questions if (row := ledger.settled(question.id)) is not None]
    given = [row for row in settled if row.source != INFERRED]
    complete = ledger.constraints.complete(settings.items)
    return CountFacts(
        campaign=folder.name,
        settings=settings,
        goal=folder.goal(),
        collection=_collection(folder.workspace, collection),
        estimates=_estimates(folder.estimates(), settings.items),
        questions=ledger.questions,
        inferred=ledger.inferred,
        unsure=sum(row.value is None for row in given),
        contradictions=ledger.contradictions,
        pending=len(ledger.pending(questions)),
        exact=ledger.constraints.clusters(settings.items) if complete else None,
        annotators=Counter(vote.annotator for question in questions for vote in ledger.votes(question.id)),
        pairs=_pairs(choose_pairs(row for row in given if row.u != row.v), collection),
        seconds_per_pair=folder.goal().pair_seconds,
        version=__version__,
        written_at=datetime.now(UTC),
        glances=ledger.glances,
        seconds_per_page=folder.goal().page_seconds,
        **_details(folder),
    )


def _details(folder: CampaignFolder) -> dict[str, Any]:
    """What the last step left beside the estimates; nothing for a campaign that was last advanced by an older version."""
    stored = folder.read_result(DETAILS)
    last = folder.last_row(ESTIMATES)
    if stored is None or last is None or last["estimate"] is None:
        return {}
    found = json.loads(stored)
    said = found["details"]
    ways = [Way(name, said[key], said[f"{key}_low"], said[f"{key}_high"]) for key, name in WAYS.items() if key in said]
    result = Way("the result", last["estimate"], last["low"], last["high"])
    return {
        "sizes": {int(size): times for size, times in found["sizes"].items()},
        "warnings": found["warnings"],
        "ways": [result, *ways] if ways else [],
        "forecast": None if found["forecast"] is None else Forecast(found["forecast_width"], found["forecast"]),
    }


def _collection(workspace: Workspace, collection: Collection) -> CollectionFacts:
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


def _estimates(table: pa.Table, items: int) -> list[Estimate]:
    """The last refresh after each number of answers; ends of an interval that cannot be are drawn in to 1 and the items."""
    found: dict[int, Estimate] = {}
    for row in table.filter(pc.is_valid(table.column("estimate"))).to_pylist():
        low, high = (min(max(row[end], 1.0), float(items)) for end in ("low", "high"))
        answers = row["questions"] + (row["glances"] or 0)
        found.pop(answers, None)  # so that the order stays that of the refreshes
        found[answers] = Estimate(answers, row["estimate"], low, high, row["clusters_seen"])
    rows = list(found.values())
    return [rows[place] for place in thinned(len(rows), MOST_POINTS)]


def _pairs(chosen: Sequence[LoggedAnswer], collection: Collection) -> list[JudgedPair]:
    items = sorted({item for row in chosen for item in (row.u, row.v)})
    pictures: dict[int, Thumbnail] = {}
    with progress("Thumbnails", len(items), "images") as update:
        for done, item in enumerate(items, start=1):
            pictures[item] = thumbnail(collection.ids[item], collection.uri(item))
            update(done)
    return [JudgedPair(row.question_id, row.value, pictures[row.u], pictures[row.v]) for row in chosen]


__all__ = ["gather", "write_reports"]
