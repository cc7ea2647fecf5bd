"""A subclustering campaign: the sampler finds a few clean images of each class; its results are who stands where."""

from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign.runner import CampaignRunner, State
from cccount_dist.campaign.sideclusters import clusters_of
from cccount_dist.kinds.subcluster.prepared import campaign_candidates
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.methods import find_method
from cccount_dist.sampling.sided import Part
from cccount_dist.sampling.types import Sampler
from cccount_dist.subclustering.methods import SubclusterInputs
from cccount_dist.subclustering.result import EMPTY, Subclusters
from cccount_dist.subclustering.scores import SubclusterScores, subcluster_scores
from cccount_dist.subclustering.sided import SidedSubclusters
from storage.schema import SUBCLUSTERINGS, SUBCLUSTERS
from storage.settings import Goal


class SubclusterRunner(CampaignRunner[Subclusters]):
    """Advances a campaign of kind `subcluster`."""

    # Most questions are about one subcluster and do not wait for each other; a simulation asks them one by one.
    ahead = 64
    at_once = 1
    independent = False

    def make_sampler(self) -> Sampler[Subclusters]:
        told, every = self.settings.parameters, len(self.inputs.degree)
        if self.inputs.sides is None:
            return self._sampler(int(told["clusters"]))
        parts = []
        for side, items in self.inputs.by_side().items():
            clusters = clusters_of(side, len(items), int(told["clusters"]), told.get("clusters_of_sides"))
            parts.append(Part(side, items, self._sampler(clusters, items) if clusters and len(items) > 1 else None))
        return SidedSubclusters(parts, every, int(told["size"]))

    def _sampler(self, clusters: int, items: NDArray[np.int64] | None = None) -> Sampler[Subclusters]:
        """A sampler of so many subclusters; `items`: of these alone, which show one side."""
        settings, method = self.settings, find_method(self.settings.kind, self.settings.method)
        given = {name: value for name, value in settings.parameters.items() if method.has(name)}
        inputs = SubclusterInputs(clusters, settings.seed, partial(campaign_candidates, self.folder, self.inputs, items=items))
        return method.build(inputs, method.read(given))

    def result(self) -> Subclusters:
        """The sampler's subclusters, kept to what people said, whether they said it here or in another campaign."""
        found = self.sampler.result()
        return kept_to(found, self.ledger.constraints, self.inputs.sides) if self.epoch.knowledge else found

    def reached_target(self, goal: Goal) -> bool | None:  # noqa: ARG002  there is no width to reach
        return None

    def write_results(self, state: State, result: Subclusters) -> None:
        collection = self.folder.workspace.collection()
        scores = scores_of(result, self.inputs.classes(collection.labels()))
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


def kept_to(found: Subclusters, known: Constraints, sides: NDArray[np.int8] | None = None) -> Subclusters:
    """Return the subclusters without images that are known to differ from their centroid; those known to be the same are checked.

    A subcluster whose centroid is known to be the same as an earlier one's is surplus; where sides (n,) are kept apart, as an
    earlier one's of its side.
    """
    members, checked = found.members.copy(), found.checked.copy()
    distance, surplus = found.distance.copy(), found.surplus.copy()
    if not len(known) or not members.size:
        return found
    filled = (members != EMPTY) & (members[:, :1] != EMPTY)
    relation = known.relations(members[:, 0], np.where(filled, members, members[:, :1]))
    different = filled & (relation == 0)
    members[different], checked[different], distance[different] = EMPTY, False, np.nan
    checked |= filled & (relation == 1)
    seen: set[tuple[int, int]] = set()
    side = np.zeros(len(members), np.int8) if sides is None else sides[members[:, 0]]
    for number, name in enumerate(zip(known.names(members[:, 0]).tolist(), side.tolist(), strict=True)):
        if members[number, 0] != EMPTY and not surplus[number]:
            surplus[number] = name in seen
            seen.add(name)
    return replace(found, members=members, checked=checked, distance=distance, surplus=surplus)


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
