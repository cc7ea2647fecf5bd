"""A count campaign: the sampler is an estimator of the number of clusters, and its results are estimates over time."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign.inputs import neighbor_lists
from cccount_dist.campaign.runner import CampaignRunner, State
from cccount_dist.campaign.sidewords import SIDES_FILE
from cccount_dist.clustering.result import numbered
from cccount_dist.counting.corrected import corrected
from cccount_dist.counting.forecast import forecast_questions
from cccount_dist.counting.grown import remembered, with_earlier
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.counting.placing.underway import EAGER
from cccount_dist.counting.result import CountResult, Placed
from cccount_dist.counting.sided import SidedCount, check_sided
from cccount_dist.individuals.sides import side_figures
from cccount_dist.sampling.checked import CheckedAnswers
from cccount_dist.sampling.ledger import EPOCH, LoggedAnswer
from cccount_dist.sampling.sided import Part, side_lists
from cccount_dist.sampling.types import Answer, Sampler
from cccount_dist.similarity.localscores import LocalScores
from cccount_dist.similarity.sharp import SharpRows
from storage.schema import ESTIMATES, SEEN
from storage.settings import Goal

_MOST_QUESTIONS = 10**15  # more cannot be meant, and a wide interval early in a campaign can forecast anything
DETAILS = "count.json"  # in the results of a campaign: what the report shows beside the estimates
OPEN = 16  # sheets that lie ready
USUAL_WIDTH = 0.2  # ±10 %: what is forecast if no width is wanted


class CountRunner(CampaignRunner[CountResult]):
    """Advances a campaign of kind `count`."""

    def _open(self, *, strict: bool) -> None:
        if counting_method(self.settings.method).has("open"):  # sheets: each answer changes what is worth asking next
            self.independent, self.ahead, self.at_once = False, OPEN, 1
            super()._open(strict=strict)
            return
        lanes = int(self.settings.parameters.get("lanes", 1))
        self.independent = lanes == 1  # the next question about an item follows from the answers about it
        self.ahead = EAGER if lanes > EAGER else type(self).ahead
        super()._open(strict=strict)

    def begin(self) -> None:
        self._checked = CheckedAnswers()

    def given(self) -> dict[str, object]:
        matches = self.inputs.matches
        sharp = self.settings.parameters.get("space") == "sharp"
        wanted = sharp or matches is not None or "neighbors" in counting_method(self.settings.method).needs
        lists: dict[str, object] = {"neighbors": self._neighbors} if wanted else {}
        for side, (_, degree) in self._of_sides.items():
            lists[f"degree of {side}"] = degree
        return {**super().given(), **lists, **({} if matches is None else {"matches": matches})}

    def make_sampler(self) -> Sampler[CountResult]:
        if self.inputs.sides is None:
            return self._counter(self.inputs.degree)
        check_sided(counting_method(self.settings.method), self.folder.name)
        parts = [
            Part(side, items, self._counter(degree, items) if len(items) > 1 else None)
            for side, (items, degree) in self._of_sides.items()
        ]
        return SidedCount(parts, len(self.inputs.degree), self.settings.level)

    @cached_property
    def _of_sides(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """The items of each side, and degrees of its items alone; nothing where sides are not kept apart."""
        found = {}
        for side, items in self.inputs.by_side().items():
            degree = np.full(len(self.inputs.degree), np.nan)
            degree[items] = self.inputs.degree[items]
            found[side] = items, degree
        return found

    def _counter(self, degree: NDArray[np.float64], items: NDArray[np.int64] | None = None) -> Sampler[CountResult]:
        """A counter of the items that have a degree; `items`: those of one side."""
        settings, inputs = self.settings, self.inputs
        earlier = self.earlier_sizes
        if items is not None:
            there = np.flatnonzero(~np.isnan(inputs.degree))
            earlier = tuple(n for size in earlier if (n := int(np.isin(there[:size], items).sum())))
        return make_counter(
            settings.method,
            vectors=inputs.vectors,
            degree=degree,
            seed=settings.seed,
            level=settings.level,
            parameters={name: value for name, value in settings.parameters.items() if name != "sides"},
            mean_square=inputs.mean_square,
            sharp=self._sharp,
            local=None if inputs.matches is None else LocalScores(self._neighbors, inputs.matches),
            earlier=earlier,
            neighbors=lambda: self._lists_of(items),
        )

    def _lists_of(self, items: NDArray[np.int64] | None) -> NDArray[np.int32]:
        if items is None:
            return self._neighbors
        own = np.zeros(len(self._neighbors), np.bool_)
        own[items] = True
        return side_lists(self._neighbors, own)[0]

    def _sharp(self) -> SharpRows:
        return SharpRows(self.inputs.vectors, self._neighbors)

    @cached_property
    def _neighbors(self) -> NDArray[np.int32]:
        return neighbor_lists(self.folder.workspace)

    def beside(self, row: LoggedAnswer) -> Sequence[Answer]:
        """Gold and repeats tell a sampler that estimates rates how often people are wrong, from the row on at which they came."""
        return self._checked.take(row) if counting_method(self.settings.method).checks == "all" else ()

    def result(self) -> CountResult:
        """The sampler's estimate, or the exact number once the answers settle every pair.

        A campaign that stops at a width has the interval that pays for looking at it after every step.
        """
        result = self._kept_to_corrections()
        if not self.complete:
            result = result if self.folder.goal().target_width is None else result.at_stop()
            return with_earlier(result, self.epoch.found, self.more_items)
        exact = float(self.ledger.constraints.clusters(self.countable))
        return replace(result, estimate=exact, low=exact, high=exact, certain_low=exact)

    def _kept_to_corrections(self) -> CountResult:
        """The sampler's estimate, where people corrected what it saw together."""
        known, sampler = self.ledger.constraints, self.sampler
        said = known.links() if known.corrected else []
        links = [(u, v, value) for u, v, value, name in said if not name.startswith(f"{EPOCH}-")]
        if isinstance(sampler, SidedCount):
            return sampler.kept_to(known, links)
        if not (known.corrected and isinstance(sampler, Placed)):
            return sampler.result()
        return corrected(sampler.result(), sampler.partition(), links, self.countable)

    def found_so_far(self) -> dict[str, float] | None:
        last, written = self.folder.last_row(ESTIMATES), self.folder.read_result(DETAILS)
        details = {} if written is None else json.loads(written)["details"]
        return None if last is None else remembered(last, details, self.epoch.found)

    def reached_target(self, goal: Goal) -> bool | None:
        return None if goal.target_width is None else self.result().relative_width <= goal.target_width

    def _forecast(self, result: CountResult) -> int | None:
        """Questions in all until the wanted width, a page counted as the questions that take a person as long."""
        goal = self.folder.goal()
        effort = self.ledger.questions + self.ledger.glances * goal.page_cost
        found = forecast_questions(result, effort, goal.target_width)
        return None if found is None else min(found, _MOST_QUESTIONS)

    def write_results(self, state: State, result: CountResult) -> None:
        row = {
            "answers": self.ledger.position,
            "questions": self.ledger.questions,
            "inferred": self.ledger.inferred,
            "estimate": result.estimate,
            "low": result.low,
            "high": result.high,
            "level": result.level,
            "state": state,
            "forecast": self._forecast(result),
            "clusters_seen": result.certain_low,
            "glances": self.ledger.glances,
        }
        self.folder.append_row(ESTIMATES, row)
        self.folder.write_result(DETAILS, json.dumps(self._details(result), indent=1).encode())
        if state != "running" and isinstance(self.sampler, Placed):
            self._write_seen(self.sampler.partition())
            if self.inputs.sides is not None and (found := side_figures(self.folder, result)) is not None:
                self.folder.write_result(SIDES_FILE, found.stored())

    def _write_seen(self, clusters: Sequence[Sequence[int]]) -> None:
        """Write which items were seen together; -1 for those that were not drawn."""
        collection = self.folder.workspace.collection()
        cluster = np.full(collection.items, -1, np.int64)
        for number, members in enumerate(clusters):
            cluster[list(members)] = number
        columns = {"item": np.arange(collection.items), "id": list(collection.ids), "cluster": numbered(cluster)}
        self.folder.write_table(SEEN, pa.table(columns, schema=SEEN.schema))

    def _details(self, result: CountResult) -> dict[str, object]:
        """What the report shows beside the estimates."""
        goal = self.folder.goal()
        effort = self.ledger.questions + self.ledger.glances * goal.page_cost
        width = goal.target_width or USUAL_WIDTH
        return {
            "details": dict(result.details),
            "sizes": {str(size): times for size, times in result.sizes.items()},
            "warnings": result.warnings,
            "forecast_width": width,
            "forecast": forecast_questions(result, effort, width),
        }
