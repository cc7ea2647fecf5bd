"""A subclustering campaign: the sampler finds a few clean images of each class; its results are who stands where."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.metrics import SubclusterScores, subcluster_scores
from cccount_dist.runner import CampaignRunner, State
from cccount_dist.sampling.types import Sampler
from cccount_dist.subclustering.prepared import campaign_candidates, options_of
from cccount_dist.subclustering.result import EMPTY, Subclusters
from cccount_dist.subclustering.sampler import ActiveSubclustering
from storage.schema import SUBCLUSTERINGS, SUBCLUSTERS
from storage.settings import Goal


class SubclusterRunner(CampaignRunner[Subclusters]):
    """Advances a campaign of kind `subcluster`."""

    # Most questions are about one subcluster and do not wait for each other; a simulation asks them one by one.
    ahead = 64
    at_once = 1

    def make_sampler(self) -> Sampler[Subclusters]:
        options = options_of(self.settings)
        return ActiveSubclustering(campaign_candidates(self.folder, self.inputs, options), options)

    def result(self) -> Subclusters:
        return self.sampler.result()

    def reached_target(self, goal: Goal) -> bool | None:  # noqa: ARG002  there is no width to reach
        return None

    def write_results(self, state: State, result: Subclusters) -> None:
        collection = self.folder.workspace.collection()
        scores = scores_of(result, collection.labels())
        row = {
            "answers": self.ledger.position,
            "questions": self.ledger.questions,
            "inferred": self.ledger.inferred,
            "subclusters": result.count,
            "checked": int(result.checked[~result.surplus].sum()),
            "empty": result.empty,
            "surplus": int(result.surplus.sum()),
            "sjc": None if scores is None else scores.sjc,
            "coverage": None if scores is None else scores.coverage,
            "purity": None if scores is None else scores.purity,
            "state": state,
        }
        self.folder.append_row(SUBCLUSTERINGS, row)
        if state != "running":  # a step that goes on at once would only overwrite it
            self.folder.write_table(SUBCLUSTERS, table_of(result, collection.ids))


def scores_of(result: Subclusters, labels: NDArray[np.int64] | None) -> SubclusterScores | None:
    """Return how good the subclusters are; None without labels."""
    return None if labels is None else subcluster_scores(labels, result.members[~result.surplus])


def table_of(result: Subclusters, ids: list[str]) -> pa.Table:
    """Return the rows of `results/subclusters.parquet`: filled places of subclusters that are not surplus, numbered anew."""
    members, checked, distance = (part[~result.surplus] for part in (result.members, result.checked, result.distance))
    subcluster, place = np.nonzero(members != EMPTY)
    item = members[subcluster, place]
    columns = {
        "item": item,
        "id": [ids[number] for number in item.tolist()],
        "subcluster": subcluster,
        "place": place,
        "checked": checked[subcluster, place],
        "distance": distance[subcluster, place],
    }
    return pa.table(columns, schema=SUBCLUSTERS.schema)
