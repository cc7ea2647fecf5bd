"""A grouping campaign: the sampler gives every item a cluster, and its results are the labels and how they came about."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign.inputs import Inputs, neighbor_lists
from cccount_dist.campaign.runner import CampaignRunner, State
from cccount_dist.campaign.sideclusters import clusters_of
from cccount_dist.campaign.sidewords import SIDES_FILE
from cccount_dist.clustering.agreement import ari, entropy, jcc, nmi, rwcp
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, make_grouper, without_vectors
from cccount_dist.clustering.respecting import respecting
from cccount_dist.clustering.result import Grouping, Previewing, numbered
from cccount_dist.clustering.sided import SidedGroups
from cccount_dist.kinds.cluster.outweighed import outweighed, said_outweighed, settled_by_people
from cccount_dist.report.measured import measured_columns
from cccount_dist.sampling.checked import CheckedAnswers
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.ledger import EPOCH, LoggedAnswer
from cccount_dist.sampling.sided import Part, side_lists
from cccount_dist.sampling.types import SAME, Answer, KnownAnswer, Sampler
from storage.campaigns import CampaignFolder
from storage.rowcache import row_cache
from storage.schema import GROUPINGS, LABELS, NEIGHBOR_SIMILARITY, NEXT
from storage.settings import Goal

PREVIEW = 12  # questions that a report shows as the next ones
_MOST_CELLS = 4_000_000  # clusters by classes up to which the best assignment is worked out
_SHOWN = 5  # pairs that a warning names
_TRIALS = 20  # gold answers from which on …
_ERR = 0.02  # … so many wrong ones among them are a warning for a method that takes every answer as true


class ClusterRunner(CampaignRunner[Grouping]):
    """Advances a campaign of kind `cluster`."""

    # Each answer changes what is worth asking next: few questions are open at a time, and a simulation asks them one by one.
    ahead = 16
    at_once = 1
    independent = False

    def begin(self) -> None:
        self._method = grouping_method(self.settings.method)
        self._checked, self._known = CheckedAnswers(), Counter[bool]()  # gold answers that were right, and wrong ones
        self._consensus: NDArray[np.uint16] | None = None
        if self._method.consensus and self.inputs.sides is None:
            from cccount_dist.kinds.cluster.consensus import kept_consensus

            self._consensus = kept_consensus(self.folder, self._given, self.inputs.fingerprints["embeddings"])

    def given(self) -> dict[str, object]:
        given = self._given
        lists: dict[str, object] = {"vectors": given.vectors, "neighbors": given.neighbors, "similarity": given.similarity}
        if given.matches is not None:
            lists["matches"] = given.matches
        for side, (_, part) in self._of_sides.items():
            lists |= {f"neighbors of {side}": part.neighbors, f"similarity of {side}": part.similarity}
            if part.matches is not None:
                lists[f"matches of {side}"] = part.matches
        return {**super().given(), **lists}

    @cached_property
    def _given(self) -> GroupingInputs:
        return grouping_inputs(self.folder, self.inputs)

    def make_sampler(self) -> Sampler[Grouping]:
        method = self.settings.method
        if self.inputs.sides is None:
            return make_grouper(method, replace(self._given, consensus=self._consensus))
        parts = [
            Part(side, items, make_grouper(method, given) if len(items) > 1 else None)
            for side, (items, given) in self._of_sides.items()
        ]
        return SidedGroups(parts, len(self.inputs.degree))

    @cached_property
    def _of_sides(self) -> dict[str, tuple[NDArray[np.int64], GroupingInputs]]:
        """The items of each side, and what its sampler is made from; nothing where sides are not kept apart."""
        by_count, found = self.settings.parameters.get("clusters_of_sides"), {}
        for side, items in self.inputs.by_side().items():
            told = clusters_of(side, len(items), self._given.clusters, by_count)
            found[side] = items, replace(of_side(self._given, items), clusters=told)
        return found

    def beside(self, row: LoggedAnswer) -> Sequence[Answer]:
        """Gold answers tell a sampler that wants them how often people are wrong; the result of the others says so.

        They are single votes: where several people settle each answer, it is better than those (`grouping_inputs`).
        """
        known = [answer for answer in self._checked.take(row) if isinstance(answer, KnownAnswer)]
        for answer in known:
            self._known[answer.value == answer.truth] += answer.times
        return known if self._method.checks == "gold" and self.ledger.overlap == 1 else ()

    def result(self) -> Grouping:
        """The sampler's groups, kept to what people said, whether they said it here or in another campaign.

        A campaign of cccount 0.1 goes on as it began, until a new epoch begins.
        """
        found = self.sampler.result()
        return self._warned(kept_to(found, self.ledger.constraints) if self.epoch.knowledge else found)

    def _warned(self, found: Grouping) -> Grouping:
        cautions = [found.warning] if found.warning is not None else []
        if found.against:
            cautions.append(said_against(found.against, self.folder.workspace.collection().ids))
        if not self._method.takes("ratings"):
            named = {frozenset((u, v)) for u, v, _ in found.against}
            rows = outweighed(settled_by_people(self.ledger, self.questions), found.labels)
            if count := sum(frozenset((row.u, row.v)) not in named for row in rows):
                cautions.append(said_outweighed(count))
        wrong, seen = self._known[False], self._known.total()
        if self._method.believes and seen >= _TRIALS and wrong > _ERR * seen and self.ledger.overlap == 1:
            cautions.append(
                f"{wrong} of {seen} answers to pairs that were known are wrong, and {self.settings.method} takes every answer as "
                "true: use --method evidence, or let several people answer each question (--overlap)"
            )
        return replace(found, warning="; ".join(cautions) or None)

    def reached_target(self, goal: Goal) -> bool | None:
        """Whether the low end of the share that is right has reached what is wanted; None if nothing is."""
        if goal.target_quality is None:
            return None
        quality = self.sampler.result().quality
        return quality is not None and quality.right is not None and quality.right.low >= goal.target_quality

    def write_results(self, state: State, result: Grouping) -> None:
        collection = self.folder.workspace.collection()
        classes = self.inputs.classes(collection.labels())
        mutual, rand = agreement(result, classes)
        row = {
            "answers": self.ledger.position,
            "questions": self.ledger.questions,
            "inferred": self.ledger.inferred,
            "clusters": result.clusters,
            "entropy": entropy(result.labels),
            "nmi": mutual,
            "ari": rand,
            **_of_pairs_and_items(result, classes, at_rest=state != "running"),
            "warning": result.warning,
            "against": len(result.against),
            "expected_classes": result.expected_classes,
            "state": state,
            "glances": self.ledger.glances,
            **measured_columns(result),
        }
        self.folder.append_row(GROUPINGS, row)
        if state != "running":  # labels of a step that goes on at once would only be overwritten
            columns = {"item": np.arange(collection.items), "id": list(collection.ids), "cluster": result.labels}
            self.folder.write_table(LABELS, pa.table(columns, schema=LABELS.schema))
            if self.inputs.sides is not None:
                from cccount_dist.individuals.sides import side_figures  # it counts, and counting takes a while to load

                if (found := side_figures(self.folder)) is not None:
                    self.folder.write_result(SIDES_FILE, found.stored())
            self.folder.write_table(NEXT, pa.Table.from_pylist(self._next(), schema=NEXT.schema))

    def _next(self) -> list[dict[str, object]]:
        """What would be asked now, for the report; open questions first."""
        ahead = self.sampler.preview(PREVIEW) if isinstance(self.sampler, Previewing) else []
        return [{"u": q.u, "v": q.v, "purpose": q.purpose} for q in [*self.pending(), *ahead][:PREVIEW]]


def grouping_inputs(folder: CampaignFolder, inputs: Inputs) -> GroupingInputs:
    """Return what the sampler of a campaign is made from."""
    settings = folder.settings()
    given = dict(settings.parameters)
    for name in ("clusters_from", "clusters_of_sides", "sides"):  # where K was taken from is for people, and sides for the runner
        given.pop(name, None)
    clusters = given.pop("clusters", None)
    told = None if clusters is None else int(clusters)
    if "vectors" not in grouping_method(settings.method).needs_of(given):
        return without_vectors(~np.isnan(inputs.degree), settings.seed, told, given)
    workspace = folder.workspace
    similarity = row_cache(workspace.array(NEIGHBOR_SIMILARITY), workspace.cache_folder(), "neighbor-similarity")
    return GroupingInputs(
        inputs.vectors,
        neighbor_lists(workspace),
        similarity,
        settings.seed,
        told,
        given,
        overlap=settings.overlap or 1,
        matches=inputs.matches,
    )


def of_side(given: GroupingInputs, items: NDArray[np.int64]) -> GroupingInputs:
    """Return what the sampler of one side is made from: lists in which its items alone are there."""
    own = np.zeros(len(given.neighbors), np.bool_)
    own[items] = True
    if not given.neighbors.shape[1]:
        return replace(given, usable=own)
    if len(items) < 2:
        return given
    beside: list[tuple[NDArray[Any], float]] = [(given.similarity, 0.0)]
    if given.matches is not None:
        beside.append((given.matches, -1))
    lists, moved = side_lists(given.neighbors, own, *beside)
    return replace(given, neighbors=lists, similarity=moved[0], matches=moved[1] if len(moved) > 1 else None)


def kept_to(found: Grouping, known: Constraints) -> Grouping:
    """Return the groups with every sure answer respected, and the answers that cannot be: they contradict others.

    Before a method has groups (all labels -1) there is nothing to keep to. Items that cannot be grouped stay out.
    """
    if not len(known) or not np.any(found.labels >= 0):
        return found
    grouped = found.labels >= 0
    said = [*known.links(), *((c.u, c.v, c.value, c.answer_id) for c in known.conflicts)]
    sure = [
        (u, v, value, name)
        for u, v, value, name in said
        # Votes of an earlier epoch are weighed by the sampler, as those of this one are.
        if not name.startswith(f"{EPOCH}-") and max(u, v) < len(grouped) and grouped[u] and grouped[v]
    ]
    refused = {conflict.answer_id for conflict in known.conflicts}
    obeyed = [(u, v, value) for u, v, value, name in sure if name not in refused]
    labels = numbered(respecting(found.labels, obeyed, corrected=known.corrected))
    against = tuple((u, v, value) for u, v, value, _ in sure if (labels[u] == labels[v]) != (value == SAME))
    return replace(found, labels=labels, against=against)


def said_against(against: Sequence[tuple[int, int, float]], ids: Sequence[str]) -> str:
    """Say which sure answers the groups go against.

    >>> said_against([(0, 2, 1.0)], ["a", "b", "c"])
    'the groups go against 1 sure answer, which contradicts others: a and c were called the same'
    """
    some = [
        f"{ids[u]} and {ids[v]} were called {'the same' if value == SAME else 'different'}" for u, v, value in against[:_SHOWN]
    ]
    more = f"; and {len(against) - _SHOWN:,} more" if len(against) > _SHOWN else ""
    count = f"{len(against):,} sure answers, which contradict" if len(against) > 1 else "1 sure answer, which contradicts"
    return f"the groups go against {count} others: {', '.join(some)}{more}"


def _of_pairs_and_items(result: Grouping, labels: NDArray[np.int64] | None, *, at_rest: bool) -> dict[str, float | None]:
    """Return JCC and RWCP, the measures of the Active-HACC paper; None where nothing is known.

    RWCP is an assignment of clusters to classes, cubic in their number: it is worked out when a step ends, if they are not many.
    """
    if labels is None or not np.any(both := (labels >= 0) & (result.labels >= 0)):
        return {"jcc": None, "rwcp": None}
    cells = len(np.unique(labels[both])) * len(np.unique(result.labels[both]))
    return {
        "jcc": jcc(labels, result.labels),
        "rwcp": rwcp(labels, result.labels) if at_rest and cells <= _MOST_CELLS else None,
    }


def agreement(result: Grouping, labels: NDArray[np.int64] | None) -> tuple[float | None, float | None]:
    """Return NMI and ARI over the items that have a label and a cluster; None where nothing is known."""
    if labels is None or not np.any((labels >= 0) & (result.labels >= 0)):
        return None, None
    return nmi(labels, result.labels), ari(labels, result.labels)
