"""Gathers what the report of a campaign says if its questions are ratings. Reads only."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.campaign.inputs import unit_vectors
from cccount_dist.clustering.agreement import accuracy
from cccount_dist.clustering.spectral.complete import MOST_COMPLETE, complete_groups
from cccount_dist.report.ratingsection import RatingFacts
from cccount_dist.sampling.ledger import LoggedAnswer
from storage.campaigns import CampaignFolder
from storage.collection import Collection

Labels = NDArray[np.int64]


def rating_facts(
    folder: CampaignFolder, collection: Collection, given: list[LoggedAnswer], labels: Labels, price: float | None
) -> RatingFacts:
    """Return error and cost of the campaign; `labels` are its groups, `given` the answers that somebody gave."""
    truth, grouped = collection.labels(), len(labels)  # a finished campaign says nothing of items that came later
    truth = None if truth is None else truth[:grouped]
    settings, goal = folder.settings(), folder.goal()
    rated = {(row.u, row.v) for row in given if row.value is not None}
    complete: Labels | None = None
    if goal.oracle == "labels":  # all similarities are what the labels say, and so are the groups
        complete = truth
    elif goal.oracle == "similarity" and settings.items <= MOST_COMPLETE:
        complete = complete_groups(unit_vectors(folder.workspace)[:grouped], int(settings.parameters.get("clusters", 2)))
    elif len(rated) == settings.items * (settings.items - 1) // 2:
        complete = labels
    return RatingFacts(
        items=settings.items,
        ratings=len(given),
        pairs=len(rated),
        error_complete=_error(complete, labels),
        error_truth=_error(truth, labels),
        seconds=goal.pair_seconds,
        price=price,
    )


def _error(wanted: Labels | None, labels: Labels) -> float | None:
    """The share of items in the wrong group, under the best match of groups; None where nothing can be said."""
    if wanted is None or not len(labels) or not np.any((labels >= 0) & (wanted >= 0)):
        return None
    return 1.0 - accuracy(wanted, labels)
