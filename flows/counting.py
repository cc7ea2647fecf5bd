"""Count campaigns from the front door: start or go on, until the count is as good as the budget allows."""

import math
from dataclasses import dataclass
from typing import Any

from cccount_dist.counting.forecast import forecast_questions
from cccount_dist.counting.methods import AUTO, WHY_AUTO, check_parameters, resolve_method
from cccount_dist.counting.placing.rates import LARGEST_PAGE, parse_rates
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.runner import USUAL_WIDTH, CountRunner
from cccount_dist.runner import Progress
from flows.campaign import check_common, named_parameters, open_campaign, open_inputs, run_to_the_end
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.settings import Goal, Scalar

LANES = 16  # items under way at once when people answer: few wait for each other, and little is unfinished at the end


@dataclass(frozen=True, slots=True)
class CountOptions:
    """What `cccount count` was told; None where the user said nothing and the campaign's own setting holds."""

    method: str | None = None
    seed: int | None = None
    level: float | None = None
    budget: int = 2000
    target_width: float | None = None
    oracle: str = "people"
    error_rate: float = 0.0
    grid: int | None = None
    wrong_answers: str | None = None
    search: str | None = None
    pair_seconds: float = 9.0
    page_seconds: float = 30.0
    overlap: int | None = None
    parameter: tuple[str, ...] = ()  # NAME=VALUE, for the method

    def __post_init__(self) -> None:
        if self.grid is not None and not 1 <= self.grid <= LARGEST_PAGE:
            raise InputError(f"--grid takes 1 to {LARGEST_PAGE} clusters on a page, not {self.grid}")
        if self.wrong_answers is not None:
            parse_rates(self.wrong_answers)
        if self.search not in (None, "full", "fast"):
            raise InputError(f"--search takes full or fast, not {self.search!r}")
        for name in ("pair_seconds", "page_seconds"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise InputError(f"--{name.replace('_', '-')} must be above 0, not {getattr(self, name)}")
        check_common(self)
        if self.level is not None and not 0.0 < self.level < 1.0:
            raise InputError(f"--level must lie between 0 and 1, not {self.level}")
        if self.target_width is not None and self.target_width <= 0.0:
            raise InputError(f"--target-width must be above 0, not {self.target_width}")

    @property
    def resolved_method(self) -> str:
        return resolve_method(self.method or "auto")

    @property
    def without(self) -> dict[str, object]:
        return {"grid": 1, "wrong_answers": "none", "search": "full", "space": "given"}

    @property
    def named(self) -> dict[str, Scalar]:
        return named_parameters(self.parameter)

    def goal(self) -> Goal:
        return Goal(self.budget, self.oracle, self.error_rate, self.target_width, self.pair_seconds, self.page_seconds)

    def parameters(self) -> dict[str, Scalar]:
        """What the method is told beyond seed and level. Labels answer one by one and do not err unless they are told to."""
        if self.resolved_method != "placing":
            if self.grid not in (None, 1) or self.wrong_answers not in (None, "none") or self.search not in (None, "full"):
                raise InputError(
                    "--grid, --wrong-answers and --search are for the method placing: "
                    f"{self.resolved_method} asks pairs, and takes answers as they are"
                )
            check_parameters(self.resolved_method, self.named)
            return self.named
        if self.parameter:
            raise InputError(
                f"--parameter {self.parameter[0]} is for the methods that placing is compared with: "
                "placing has --grid, --wrong-answers and --search"
            )
        simulated = self.oracle == "labels"
        wrong_answers = self.wrong_answers or ("none" if simulated and not self.error_rate else "estimate")
        lanes = 1 if simulated else LANES
        parameters: dict[str, Scalar] = {
            "grid": self.grid or 1,
            "wrong_answers": wrong_answers,
            "lanes": lanes,
            "space": "sharp",
        }
        return parameters if self.search == "full" else parameters | {"search": "fast"}


def count(workspace: str, campaign: str, options: CountOptions) -> dict[str, Any]:
    """Start the campaign or go on with it, until it is done or waits for people."""
    folder = open_campaign(workspace, campaign, "count", options)
    with folder.lease() as lease:
        runner = CountRunner(folder, lease, open_inputs(folder))
        reached = run_to_the_end(runner, f"Counting ({runner.settings.method})", options.budget)
        described = describe_count(folder, reached)
        if reached.result.estimate is None:
            described["forecast"] = _guess(runner, reached)
    return described


def advance_count(folder: CampaignFolder) -> dict[str, Any]:
    """One step of a count campaign."""
    with folder.lease() as lease:
        reached = CountRunner(folder, lease, open_inputs(folder)).step()
    return describe_count(folder, reached)


def describe_count(folder: CampaignFolder, reached: Progress[CountResult]) -> dict[str, Any]:
    """The fields of `cccount count --json`."""
    settings, goal, result = folder.settings(), folder.goal(), reached.result
    effort = reached.questions + reached.glances * goal.page_cost
    return {
        "campaign": folder.name,
        "method": settings.method,
        "estimate": result.estimate,
        "low": result.low,
        "high": result.high,
        "level": result.level,
        "method_reason": WHY_AUTO if settings.method == AUTO else "chosen when the campaign was started",
        "clusters_seen": result.certain_low,
        "questions": reached.questions,
        "glances": reached.glances,
        "human_seconds": reached.questions * goal.pair_seconds + reached.glances * goal.page_seconds,
        "inferred": reached.inferred,
        "state": reached.state,
        "forecast": _forecast(result, effort, goal),
        "forecast_questions": forecast_questions(result, effort, goal.target_width),
        "warnings": result.warnings,
        "details": dict(result.details),
        "pending": reached.pending,
        "contradictions": reached.contradictions,
    }


def _forecast(result: CountResult, effort: float, goal: Goal) -> dict[str, Any] | None:
    """What the wanted width takes in all, or ±10 % if none was asked for; from the running estimate."""
    width = goal.target_width or USUAL_WIDTH
    questions = forecast_questions(result, effort, width)
    if questions is None:
        return None
    return {"width": width, "questions": questions, "hours": questions * goal.pair_seconds / 3600, "guess": False}


def _guess(runner: CountRunner, reached: Progress[CountResult]) -> dict[str, Any] | None:
    """The same before the first answers, for placing: from a guess at the number of clusters, made from the vectors alone."""
    from cccount_dist.counting.guess import guess_clusters, guessed_effort, rounded

    settings, goal, inputs = runner.settings, runner.folder.goal(), runner.inputs
    if settings.method != "placing" or reached.questions + reached.glances:
        return None
    clusters = guess_clusters(inputs.vectors, inputs.degree, settings.seed)
    width = goal.target_width or USUAL_WIDTH
    grid, errs = int(settings.parameters.get("grid", 1)), settings.parameters.get("wrong_answers") != "none"
    effort = guessed_effort(clusters, width, grid=grid, wrong_answers=errs)
    seconds = effort.questions * goal.pair_seconds + effort.glances * goal.page_seconds
    return {
        "width": width,
        "questions": rounded(effort.questions),
        "glances": rounded(effort.glances),
        "hours": seconds / 3600,
        "guess": True,
        "clusters": rounded(clusters),
    }
