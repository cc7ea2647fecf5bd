"""What the report of a count says, gathered from the workspace.

Reads only, and needs no lease: a campaign may go on meanwhile. Memory: the collection table and the answer log; of the images,
one at a time.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cccount_dist.campaign.campaign import Campaign
from cccount_dist.campaign.effort import effort_of, measured_costs
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.kinds.count.runner import DETAILS
from cccount_dist.report.chart import MOST_POINTS
from cccount_dist.report.collected import collection_facts, pictures_of
from cccount_dist.report.facts import CountFacts, Estimate, Forecast, JudgedPair, Way
from cccount_dist.report.individualsection import seen_individuals
from cccount_dist.report.shownpairs import choose_pairs
from cccount_dist.report.wording import WAYS, thinned
from cccount_dist.sampling.ledger import CLOSED, INFERRED, LoggedAnswer
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.errors import CorruptionError
from storage.reading import reading
from storage.schema import ESTIMATES
from storage.version import __version__


def gather(
    folder: CampaignFolder, collection: Collection, price: float | None = None, progress: Progressing = silent
) -> CountFacts:
    """Return everything that the report of this campaign says; `price` is that of a question."""
    opened = Campaign(folder)
    ledger, questions = opened.ledger, opened.questions
    settings = replace(opened.settings, items=folder.epochs()[-1].items or opened.settings.items)  # those of today
    settled = [row for question in questions if (row := ledger.settled(question.id)) is not None]
    given = [row for row in settled if row.source not in (INFERRED, CLOSED)]
    complete = ledger.constraints.complete(settings.items)
    return CountFacts(
        campaign=folder.name,
        settings=settings,
        goal=folder.goal(),
        collection=collection_facts(folder.workspace, collection),
        estimates=_estimates(folder.read_table(ESTIMATES), settings.items),
        effort=effort_of(ledger, folder.waits(), measured_costs(folder)),
        unsure=sum(row.value is None for row in given),
        contradictions=ledger.contradictions,
        pending=len(ledger.pending(questions)),
        exact=ledger.constraints.clusters(settings.items) if complete else None,
        pairs=_pairs(choose_pairs(row for row in given if row.u != row.v), collection, progress),
        version=__version__,
        written_at=datetime.now(UTC),
        epochs=folder.epochs(),
        price=price,
        individuals=seen_individuals(folder, collection, progress),
        **_details(folder),
    )


def _details(folder: CampaignFolder) -> dict[str, Any]:
    """What the last step left beside the estimates; nothing for a campaign that was last advanced by an older version."""
    stored = folder.read_result(DETAILS)
    last = folder.last_row(ESTIMATES)
    if stored is None or last is None or last["estimate"] is None:
        return {}
    result = Way("the result", last["estimate"], last["low"], last["high"])
    with reading(f"{DETAILS} of campaign {folder.name}", CorruptionError, "delete it: `cccount advance` writes it again"):
        found = json.loads(stored)
        said = found["details"]
        ways = [Way(name, said[key], said[f"{key}_low"], said[f"{key}_high"]) for key, name in WAYS.items() if key in said]
        return {
            "sizes": {int(size): times for size, times in found["sizes"].items()},
            "warnings": found["warnings"],
            "ways": [result, *ways] if ways else [],
            "forecast": None if found["forecast"] is None else Forecast(found["forecast_width"], found["forecast"]),
        }


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


def _pairs(chosen: Sequence[LoggedAnswer], collection: Collection, progress: Progressing) -> list[JudgedPair]:
    pictures = pictures_of((item for row in chosen for item in (row.u, row.v)), collection, progress)
    return [JudgedPair(row.question_id, row.value, pictures[row.u], pictures[row.v]) for row in chosen]
