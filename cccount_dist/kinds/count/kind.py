"""The kind `count`: how many different ones there are, with an interval."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cccount_dist.campaign.kind import CampaignKind
from cccount_dist.campaign.noun import CLUSTER, Noun, noun_of, whole_range
from cccount_dist.campaign.progress import Progressing, silent
from cccount_dist.counting.methods import DEFAULT, KIND, WHY_DEFAULT
from cccount_dist.kinds.count.options import CountOptions
from cccount_dist.kinds.count.outcome import CountOutcome, ForecastOutcome

if TYPE_CHECKING:
    from cccount_dist.campaign.inputs import Inputs
    from cccount_dist.campaign.runner import Progress
    from cccount_dist.counting.result import CountResult
    from cccount_dist.kinds.count.runner import CountRunner
    from storage.campaigns import CampaignFolder
    from storage.collection import Collection
    from storage.schema import TableSpec
    from storage.settings import Goal


class CountKind(CampaignKind[CountOptions]):
    """Estimates over time."""

    name = KIND
    doing = "Counting"
    nothing_yet = "No estimate yet"
    keeps_sides = True
    help = """Estimate how many different ones there are, with an interval.

    With --oracle people the questions are written and the command returns: people answer on the page of `cccount review`, which
    goes on by itself; or in a file (`cccount answers`), after which `cccount advance` goes on.

    Example: cccount count census --noun individual --question "Are these two the same lynx?"

    Example: cccount count census --budget 2000 --oracle labels

    Example: cccount count census --campaign paper --method nis --parameter similarity=soft --oracle labels
    """
    options = CountOptions
    shown = ("estimate", "low", "high", "level")

    @property
    def course(self) -> "TableSpec":
        from storage.schema import ESTIMATES

        return ESTIMATES

    @property
    def tables(self) -> "tuple[TableSpec, ...]":
        from storage.schema import SEEN

        return (self.course, SEEN)

    def check(self, options: CountOptions, inputs: "Inputs") -> None:
        from cccount_dist.clustering.methods import check_clusters
        from cccount_dist.counting.sided import check_sided

        if inputs.sides is not None:
            check_sided(options.chosen)
        if clusters := int(options.parameters().get("clusters", 0)):  # of methods that may be told so
            check_clusters(clusters, inputs.countable)

    @property
    def runner_type(self) -> "type[CountRunner]":
        from cccount_dist.kinds.count.runner import CountRunner

        return CountRunner

    def outcome(
        self, folder: "CampaignFolder", reached: "Progress[CountResult]", inputs: "Inputs", *, opening: bool
    ) -> CountOutcome:
        from cccount_dist.campaign.effort import measured_costs
        from cccount_dist.campaign.sidesread import sides_of
        from cccount_dist.counting.forecast import forecast_questions

        settings, goal, result = folder.settings(), folder.goal(), reached.result
        effort = reached.questions + reached.glances * goal.page_cost
        untold = opening and result.estimate is None
        return CountOutcome(
            campaign=folder.name,
            method=settings.method,
            estimate=result.estimate,
            low=result.low,
            high=result.high,
            level=result.level,
            method_reason=WHY_DEFAULT if settings.method == DEFAULT else "chosen when the campaign was started",
            clusters_seen=result.certain_low,
            questions=reached.questions,
            glances=reached.glances,
            human_seconds=measured_costs(folder).seconds(reached.questions, reached.glances),
            inferred=reached.inferred,
            carried=reached.carried or None,
            state=reached.state,
            forecast=_guess(folder, reached, inputs) if untold else _forecast(result, effort, goal),
            forecast_questions=forecast_questions(result, effort, goal.target_width),
            warnings=result.warnings,
            details=dict(result.details),
            pending=reached.pending,
            contradictions=reached.contradictions,
            workspace=folder.workspace.location,
            noun=goal.noun,
            sides_found=sides_of(folder, inputs),
        )

    def brief(self, row: Mapping[str, Any]) -> str:
        return _found(row, CLUSTER)

    def found(self, row: Mapping[str, Any], goal: "Goal") -> str:
        return _found(row, noun_of(goal))

    def report(
        self,
        folder: "CampaignFolder",
        collection: "Collection",
        price: float | None = None,
        progress: Progressing = silent,
    ) -> bytes:
        from cccount_dist.kinds.count.report import gather
        from cccount_dist.report.countpage import report_page

        return report_page(gather(folder, collection, price, progress)).encode()


def _found(row: Mapping[str, Any], noun: Noun) -> str:
    if row["estimate"] is None:
        low, high = whole_range(row["low"], row["high"])
        return f"between {low:,} and {noun.of(high)}"
    return noun.about(row["estimate"], row["low"], row["high"])


def _forecast(result: "CountResult", effort: float, goal: "Goal") -> ForecastOutcome | None:
    """What the wanted width takes in all, or ±10 % if none was asked for; from the running estimate."""
    from cccount_dist.counting.forecast import forecast_questions
    from cccount_dist.kinds.count.runner import USUAL_WIDTH

    width = goal.target_width or USUAL_WIDTH
    questions = forecast_questions(result, effort, width)
    if questions is None:
        return None
    return ForecastOutcome(width=width, questions=questions, hours=questions * goal.pair_seconds / 3600)


def _guess(folder: "CampaignFolder", reached: "Progress[CountResult]", inputs: "Inputs") -> ForecastOutcome | None:
    """The same before the first answers, for placing: from a guess at the number of clusters, made from the vectors alone."""
    from cccount_dist.counting.guess import guess_clusters, guessed_effort, rounded
    from cccount_dist.kinds.count.runner import USUAL_WIDTH

    settings, goal = folder.settings(), folder.goal()
    if settings.method != DEFAULT or reached.questions + reached.glances:
        return None
    clusters = guess_clusters(inputs.vectors, inputs.degree, settings.seed)
    width = goal.target_width or USUAL_WIDTH
    grid, errs = int(settings.parameters.get("grid", 1)), settings.parameters.get("wrong_answers") != "none"
    effort = guessed_effort(clusters, width, grid=grid, wrong_answers=errs)
    seconds = effort.questions * goal.pair_seconds + effort.glances * goal.page_seconds
    return ForecastOutcome(
        width=width,
        questions=rounded(effort.questions),
        glances=rounded(effort.glances),
        hours=seconds / 3600,
        guess=True,
        clusters=rounded(clusters),
    )
