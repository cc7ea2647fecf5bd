"""A count campaign: the sampler is an estimator of the number of clusters, and its results are estimates over time."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa

from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.result import CountResult
from cccount_dist.runner import CampaignRunner, State
from cccount_dist.sampling.types import Sampler
from storage.settings import Goal


class CountRunner(CampaignRunner[CountResult]):
    """Advances a campaign of kind `count`."""

    def make_sampler(self) -> Sampler[CountResult]:
        settings, inputs = self.settings, self.inputs
        return make_counter(
            settings.method,
            vectors=inputs.vectors,
            degree=inputs.degree,
            seed=settings.seed,
            level=settings.level,
            parameters=settings.parameters,
        )

    def result(self) -> CountResult:
        """The sampler's estimate, or the exact number once the answers settle every pair."""
        result = self.sampler.result()
        if not self.complete:
            return result
        exact = float(self.ledger.constraints.clusters(self.countable))
        return replace(result, estimate=exact, low=exact, high=exact, certain_low=exact)

    def reached_target(self, goal: Goal) -> bool | None:
        return None if goal.target_width is None else self.result().relative_width <= goal.target_width

    def write_results(self, state: State, result: CountResult) -> None:
        table = self.folder.estimates()
        last = table.slice(max(0, table.num_rows - 1)).select(["answers", "state"]).to_pylist()
        if last == [{"answers": self.ledger.position, "state": state}]:
            return
        row = {
            "answers": [self.ledger.position],
            "questions": [self.ledger.questions],
            "inferred": [self.ledger.inferred],
            "estimate": [result.estimate],
            "low": [result.low],
            "high": [result.high],
            "level": [result.level],
            "state": [state],
            "refreshed_at": [datetime.now(UTC)],
        }
        self.folder.write_estimates(pa.concat_tables([table, pa.table(row, schema=table.schema)]))
