"""What the report of a grouping says, gathered from the workspace.

Reads only. Memory: the collection table, the labels and the answer log; of the images, one at a time.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign.campaign import Campaign
from cccount_dist.campaign.effort import effort_of, measured_costs
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.kinds.cluster.outweighed import outweighed, settled_by_people
from cccount_dist.kinds.cluster.rating_report import rating_facts
from cccount_dist.report.chart import MOST_POINTS
from cccount_dist.report.collected import collection_facts, pictures_of
from cccount_dist.report.facts import JudgedPair, Thumbnail
from cccount_dist.report.groupfacts import GroupingFacts, NextPair, Refresh, Sheet
from cccount_dist.report.individualsection import seen_individuals
from cccount_dist.report.measured import CountBounds, QualityOutcome
from cccount_dist.report.qualitysection import QualityFacts
from cccount_dist.report.wording import thinned
from cccount_dist.sampling.methods import find_method
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.schema import GROUPINGS, LABELS, NEXT
from storage.version import __version__

MOST_SHEETS, MOST_PICTURES = 12, 8  # groups that are shown, and items of each
MOST_AGAINST = 12
MOST_UNSURE = 12
_SIDE = 192  # pixels of a picture, shown at 160 or more; `thumbnails.py` bounds the bytes of each


def gather(
    folder: CampaignFolder, collection: Collection, price: float | None = None, progress: Progressing = silent
) -> GroupingFacts:
    """Return everything that the report of this campaign says; `price` is that of a question."""
    opened = Campaign(folder)
    ledger, questions = opened.ledger, opened.questions
    given = settled_by_people(ledger, questions)
    labels = folder.read_table(LABELS).column("cluster").to_numpy()
    sizes = np.bincount(labels[labels >= 0]) if len(labels) else np.empty(0, np.int64)
    largest = np.argsort(-sizes, kind="stable")[:MOST_SHEETS].tolist()
    shown = {cluster: _spread(np.flatnonzero(labels == cluster)) for cluster in largest}
    against = outweighed(given, labels)
    ahead = folder.read_table(NEXT).to_pylist()
    wanted = [item for items in shown.values() for item in items]
    wanted += [item for row in against[:MOST_AGAINST] for item in (row.u, row.v)]
    wanted += [item for row in ahead for item in (row["u"], row["v"])]
    last = folder.last_row(GROUPINGS) or {}
    least_sure = (last.get("least_sure") or [])[:MOST_UNSURE]
    wanted += least_sure
    pictures = pictures_of(wanted, collection, progress, side=_SIDE)
    method = find_method(opened.settings.kind, opened.settings.method)
    return GroupingFacts(
        campaign=folder.name,
        settings=opened.settings,
        goal=folder.goal(),
        collection=collection_facts(folder.workspace, collection),
        course=_course(folder.read_table(GROUPINGS)),
        sizes=Counter(sizes.tolist()),
        sheets=[Sheet(cluster, int(sizes[cluster]), [pictures[item] for item in shown[cluster]]) for cluster in largest],
        effort=effort_of(ledger, folder.waits(), measured_costs(folder)),
        unsure=sum(row.value is None for row in given),
        contradictions=ledger.contradictions,
        against=[JudgedPair(row.question_id, row.value, pictures[row.u], pictures[row.v]) for row in against[:MOST_AGAINST]],
        against_count=len(against),
        pending=len(ledger.pending(questions)),
        next=[NextPair(row["purpose"], pictures[row["u"]], pictures[row["v"]]) for row in ahead],
        warning=last.get("warning"),
        version=__version__,
        written_at=datetime.now(UTC),
        epochs=folder.epochs(),
        ratings=rating_facts(folder, collection, given, labels, price) if method.takes("ratings") else None,
        price=price,
        individuals=seen_individuals(folder, collection, progress),
        quality=_quality(last, [pictures[item] for item in least_sure]) if method.measures else None,
    )


def _quality(last: Mapping[str, Any], least_sure: list[Thumbnail]) -> QualityFacts:
    return QualityFacts(
        quality=QualityOutcome.of(last),
        count=CountBounds.of(last),
        pages=last.get("random_pages") or 0,
        hour=last.get("hour"),
        least_sure=least_sure,
        doubtful=last.get("doubtful") or (),
    )


def _course(table: pa.Table) -> list[Refresh]:
    """The last refresh after each number of answers."""
    found = {row["questions"] + (row.get("glances") or 0): row for row in table.to_pylist()}
    names = ("clusters", "entropy", "nmi", "ari", "expected_classes", "jcc", "rwcp")
    rows = [Refresh(answers, *(row.get(name) for name in names)) for answers, row in found.items()]
    return [rows[place] for place in thinned(len(rows), MOST_POINTS)]


def _spread(members: NDArray[np.int64]) -> list[int]:
    return [int(members[place]) for place in thinned(len(members), MOST_PICTURES)]
