"""A grouping campaign: the sampler gives every item a cluster, and its results are the labels and how they came about."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.clustering.methods import CONSTRAINED, GroupingInputs, make_grouper, needs_vectors, without_vectors
from cccount_dist.clustering.result import Grouping, Previewing
from cccount_dist.inputs import Inputs, neighbor_lists
from cccount_dist.metrics import ari, entropy, nmi
from cccount_dist.runner import CampaignRunner, State
from cccount_dist.sampling.checked import CheckedAnswers
from cccount_dist.sampling.ledger import LoggedAnswer
from cccount_dist.sampling.settling import CONFIDENT
from cccount_dist.sampling.types import Answer, KnownAnswer, Sampler
from storage.campaigns import CampaignFolder
from storage.rowcache import row_cache
from storage.schema import GROUPINGS, LABELS, NEIGHBOR_SIMILARITY, NEXT
from storage.settings import Goal

PREVIEW = 12  # questions that a report shows as the next ones
_TRIALS = 20  # gold answers from which on …
_ERR = 0.02  # … so many wrong ones among them are a warning for a method that takes every answer as true


class ClusterRunner(CampaignRunner[Grouping]):
    """Advances a campaign of kind `cluster`."""

    # Each answer changes what is worth asking next: few questions are open at a time, and a simulation asks them one by one.
    ahead = 16
    at_once = 1

    def make_sampler(self) -> Sampler[Grouping]:
        self._checked, self._known = CheckedAnswers(), Counter[bool]()  # gold answers that were right, and wrong ones
        given = grouping_inputs(self.folder, self.inputs)
        if self.settings.method == "hacc":
            from cccount_dist.clustering.hacc.stored import kept_consensus

            given = replace(given, consensus=kept_consensus(self.folder, given))
        return make_grouper(self.settings.method, given)

    def beside(self, row: LoggedAnswer) -> Sequence[Answer]:
        """Gold answers tell `evidence` how often people are wrong; the result of the others says so.

        They are single votes: where several people settle each answer, it is better than those (`grouping_inputs`).
        """
        known = [answer for answer in self._checked.take(row) if isinstance(answer, KnownAnswer)]
        for answer in known:
            self._known[answer.value == answer.truth] += answer.times
        return known if self.settings.method == "evidence" and self.ledger.overlap == 1 else ()

    def result(self) -> Grouping:
        found = self.sampler.result()
        wrong, seen = self._known[False], self._known.total()
        if self.settings.method not in CONSTRAINED or seen < _TRIALS or wrong <= _ERR * seen or self.ledger.overlap > 1:
            return found
        said = (
            f"{wrong} of {seen} answers to pairs that were known are wrong, and {self.settings.method} takes every answer as "
            "true: use --method evidence, or let several people answer each question (--overlap)"
        )
        return replace(found, warning=said if found.warning is None else f"{found.warning}; {said}")

    def reached_target(self, goal: Goal) -> bool | None:  # noqa: ARG002  a grouping has no width to reach
        return None

    def write_results(self, state: State, result: Grouping) -> None:
        collection = self.folder.workspace.collection()
        mutual, rand = agreement(result, collection.labels())
        row = {
            "answers": self.ledger.position,
            "questions": self.ledger.questions,
            "inferred": self.ledger.inferred,
            "clusters": result.clusters,
            "entropy": entropy(result.labels),
            "nmi": mutual,
            "ari": rand,
            "warning": result.warning,
            "expected_classes": result.expected_classes,
            "state": state,
        }
        self.folder.append_row(GROUPINGS, row)
        if state != "running":  # labels of a step that goes on at once would only be overwritten
            columns = {"item": np.arange(collection.items), "id": list(collection.ids), "cluster": result.labels}
            self.folder.write_table(LABELS, pa.table(columns, schema=LABELS.schema))
            self.folder.write_table(NEXT, pa.Table.from_pylist(self._next(), schema=NEXT.schema))

    def _next(self) -> list[dict[str, object]]:
        """What would be asked now, for the report; open questions first."""
        ahead = self.sampler.preview(PREVIEW) if isinstance(self.sampler, Previewing) else []
        return [{"u": q.u, "v": q.v, "purpose": q.purpose} for q in [*self.pending(), *ahead][:PREVIEW]]


def grouping_inputs(folder: CampaignFolder, inputs: Inputs) -> GroupingInputs:
    """Return what the sampler of a campaign is made from."""
    settings = folder.settings()
    given = dict(settings.parameters)
    given.pop("clusters_from", None)  # where K was taken from is for people
    clusters = given.pop("clusters", None)
    told = None if clusters is None else int(clusters)
    if settings.method == "evidence" and (settings.overlap or 1) > 1:
        given.setdefault("wrong_answers", f"{1 - CONFIDENT:.2f},{1 - CONFIDENT:.2f}")
    if not needs_vectors(settings.method, given):
        return without_vectors(~np.isnan(inputs.degree), settings.seed, told, given)
    workspace = folder.workspace
    similarity = row_cache(workspace.array(NEIGHBOR_SIMILARITY), workspace.cache_folder(), "neighbor-similarity")
    return GroupingInputs(inputs.vectors, neighbor_lists(workspace), similarity, settings.seed, told, given)


def agreement(result: Grouping, labels: NDArray[np.int64] | None) -> tuple[float | None, float | None]:
    """Return NMI and ARI over the items that have a label and a cluster; None where nothing is known."""
    if labels is None or not np.any((labels >= 0) & (result.labels >= 0)):
        return None, None
    return nmi(labels, result.labels), ari(labels, result.labels)
