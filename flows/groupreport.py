"""What the report of a grouping campaign says, gathered from the workspace (`report.py` writes it).

Reads only. Memory: the collection table, the labels and the answer log; of the images, one at a time.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign import Campaign
from cccount_dist.clustering.methods import RATING_METHODS
from cccount_dist.report.chart import MOST_POINTS
from cccount_dist.report.facts import CollectionFacts, JudgedPair, Thumbnail
from cccount_dist.report.groupfacts import GroupingFacts, NextPair, Refresh, Sheet
from cccount_dist.report.thumbnails import thumbnail
from cccount_dist.report.wording import thinned
from cccount_dist.sampling.ledger import INFERRED, LoggedAnswer
from flows.progress import progress
from flows.ratingreport import rating_facts
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.schema import GROUPINGS, LABELS, NEXT
from storage.version import __version__

MOST_SHEETS, MOST_PICTURES = 12, 8  # groups that are shown, and items of each
MOST_AGAINST = 12
_SIDE = 96  # pixels of a picture: with some two hundred of them a report stays below 2 MB


def gather_grouping(
    folder: CampaignFolder, collection: Collection, about: CollectionFacts, price: float | None = None
) -> GroupingFacts:
    """Return everything that the report of this campaign says; `price` is that of a question."""
    opened = Campaign(folder)
    ledger, questions = opened.ledger, opened.questions
    settled = [row for question in questions if (row := ledger.settled(question.id)) is not None]
    given = [row for row in settled if row.source != INFERRED]
    labels = folder.read_table(LABELS).column("cluster").to_numpy()
    sizes = np.bincount(labels[labels >= 0]) if len(labels) else np.empty(0, np.int64)
    largest = np.argsort(-sizes, kind="stable")[:MOST_SHEETS].tolist()
    shown = {cluster: _spread(np.flatnonzero(labels == cluster)) for cluster in largest}
    against = _against(given, labels)
    ahead = folder.read_table(NEXT).to_pylist()
    wanted = [item for items in shown.values() for item in items]
    wanted += [item for row in against[:MOST_AGAINST] for item in (row.u, row.v)]
    pictures = _pictures([*wanted, *(item for row in ahead for item in (row["u"], row["v"]))], collection)
    return GroupingFacts(
        campaign=folder.name,
        settings=opened.settings,
        goal=folder.goal(),
        collection=about,
        course=_course(folder.read_table(GROUPINGS)),
        sizes=Counter(sizes.tolist()),
        sheets=[Sheet(cluster, int(sizes[cluster]), [pictures[item] for item in shown[cluster]]) for cluster in largest],
        questions=ledger.questions,
        inferred=ledger.inferred,
        unsure=sum(row.value is None for row in given),
        contradictions=ledger.contradictions,
        against=[JudgedPair(row.question_id, row.value, pictures[row.u], pictures[row.v]) for row in against[:MOST_AGAINST]],
        against_count=len(against),
        pending=len(ledger.pending(questions)),
        next=[NextPair(row["purpose"], pictures[row["u"]], pictures[row["v"]]) for row in ahead],
        annotators=Counter(row.annotator for row in given),
        warning=_last_warning(folder),
        version=__version__,
        written_at=datetime.now(UTC),
        ratings=rating_facts(folder, collection, given, labels, price) if opened.settings.method in RATING_METHODS else None,
    )


def _last_warning(folder: CampaignFolder) -> str | None:
    last = folder.last_row(GROUPINGS)
    return None if last is None else last["warning"]


def _course(table: pa.Table) -> list[Refresh]:
    """The last refresh after each number of answers."""
    found = {row["questions"]: row for row in table.to_pylist()}
    names = ("questions", "clusters", "entropy", "nmi", "ari", "expected_classes")
    rows = [Refresh(*(row[name] for name in names)) for row in found.values()]
    return [rows[place] for place in thinned(len(rows), MOST_POINTS)]


def _spread(members: NDArray[np.int64]) -> list[int]:
    return [int(members[place]) for place in thinned(len(members), MOST_PICTURES)]


def _against(given: Iterable[LoggedAnswer], labels: NDArray[np.int64]) -> list[LoggedAnswer]:
    """The answers that the groups go against."""
    if not len(labels):
        return []
    return [row for row in given if row.value in (0.0, 1.0) and (labels[row.u] == labels[row.v]) != (row.value == 1.0)]


def _pictures(items: Iterable[int], collection: Collection) -> dict[int, Thumbnail]:
    wanted = sorted(set(items))
    pictures: dict[int, Thumbnail] = {}
    with progress("Thumbnails", len(wanted), "images") as update:
        for done, item in enumerate(wanted, start=1):
            pictures[item] = thumbnail(collection.ids[item], collection.uri(item), side=_SIDE)
            update(done)
    return pictures
