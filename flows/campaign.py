"""Count campaigns from the front door: start or go on, advance by one step, say where every campaign stands."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cccount_dist.campaign import Campaign
from cccount_dist.counting.forecast import forecast_questions
from cccount_dist.counting.methods import AUTO, WHY_AUTO, resolve_method
from cccount_dist.counting.placing.rates import LARGEST_PAGE, parse_rates
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.runner import CountRunner
from cccount_dist.inputs import Inputs, load_inputs
from cccount_dist.runner import Progress
from flows.progress import progress, progress_when_needed
from storage.campaigns import CampaignFolder
from storage.errors import ConflictError, InputError
from storage.settings import Goal, Scalar, Settings
from storage.version import __version__
from storage.workspace import Workspace

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
    pair_seconds: float = 9.0
    page_seconds: float = 30.0

    def __post_init__(self) -> None:
        if self.grid is not None and not 1 <= self.grid <= LARGEST_PAGE:
            raise InputError(f"--grid takes 1 to {LARGEST_PAGE} clusters on a page, not {self.grid}")
        if self.wrong_answers is not None:
            parse_rates(self.wrong_answers)
        for name in ("pair_seconds", "page_seconds"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise InputError(f"--{name.replace('_', '-')} must be above 0, not {getattr(self, name)}")
        if self.budget < 0:
            raise InputError(f"--budget must be 0 or more, not {self.budget}")
        if self.level is not None and not 0.0 < self.level < 1.0:
            raise InputError(f"--level must lie between 0 and 1, not {self.level}")
        if self.target_width is not None and self.target_width <= 0.0:
            raise InputError(f"--target-width must be above 0, not {self.target_width}")
        if self.seed is not None and self.seed < 0:
            raise InputError(f"--seed must be 0 or more, not {self.seed}")
        if not 0.0 <= self.error_rate <= 1.0:
            raise InputError(f"--error-rate must lie between 0 and 1, not {self.error_rate}")
        if self.oracle not in ("people", "labels"):
            raise InputError(f"--oracle takes people or labels, not {self.oracle!r}")
        if self.oracle == "people" and self.error_rate:
            raise InputError("--error-rate is for --oracle labels: people err by themselves")


def count(workspace: str, campaign: str, options: CountOptions) -> dict[str, Any]:
    """Start the campaign or go on with it, until it is done or waits for people."""
    folder = open_count(workspace, campaign, options)
    with folder.lease() as lease:
        runner = CountRunner(folder, lease, _inputs(folder))
        with progress(f"Counting ({runner.settings.method})", options.budget, "answers") as update:
            reached = runner.step()
            update(reached.questions)
            while reached.state == "running":
                reached = runner.step()
                update(reached.questions)
    return _described(folder, runner.settings, folder.goal(), reached)


def open_count(workspace: str, campaign: str, options: CountOptions) -> CampaignFolder:
    """Start the campaign, or set a new goal for the one that is there; `InputError` if it was started with other settings."""
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    goal = Goal(
        options.budget, options.oracle, options.error_rate, options.target_width, options.pair_seconds, options.page_seconds
    )
    if folder.exists:
        _require_same(folder, options)
        folder.set_goal(goal)
    else:
        _start(folder, options, goal)
    return folder


def advance(workspace: str, campaign: str) -> dict[str, Any]:
    """One idempotent step: what a scheduled run does."""
    folder = CampaignFolder(Workspace.open(workspace), campaign)
    settings = folder.settings()
    with folder.lease() as lease:
        reached = CountRunner(folder, lease, _inputs(folder)).step()
    return _described(folder, settings, folder.goal(), reached)


def status(workspace: str, campaign: str | None = None) -> dict[str, Any]:
    """Where every campaign stands, and what it waits for. Reads only: any number of people may look."""
    opened = Workspace.open(workspace)
    names = opened.campaigns() if campaign is None else [campaign]
    return {"campaigns": [_status(opened, name) for name in names]}


def _status(workspace: Workspace, name: str) -> dict[str, Any]:
    folder = CampaignFolder(workspace, name)
    opened = Campaign(folder)
    ledger, asked = opened.ledger, opened.questions
    estimates = folder.estimates()
    last = estimates.slice(max(0, estimates.num_rows - 1)).to_pylist()
    state = last[0]["state"] if last else "running"
    if state == "running" and not folder.is_being_advanced:
        state = "stopped"  # killed or out of disk in the middle: the same command goes on
    return {
        "campaign": name,
        "method": opened.settings.method,
        "state": state,
        "questions": ledger.questions,
        "answers": ledger.position,
        "pending": len(ledger.pending(asked)),
        "contradictions": ledger.contradictions,
        "result": {key: last[0][key] for key in ("estimate", "low", "high", "level")} if last else None,
    }


def _inputs(folder: CampaignFolder) -> Inputs:
    """What the sampler reads. On a host that has no row cache yet this takes a while, so it is done with a bar."""
    with progress_when_needed("Reading vectors", "vectors") as report:
        return load_inputs(folder.workspace, report)


def _start(folder: CampaignFolder, options: CountOptions, goal: Goal) -> None:
    inputs = _inputs(folder)
    method = resolve_method(options.method or "auto")
    settings = Settings(
        kind="count",
        method=method,
        seed=options.seed or 0,
        level=options.level if options.level is not None else 0.95,
        metric=inputs.metric,
        items=inputs.countable,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        parameters=_parameters(method, options),
        fingerprints=inputs.fingerprints,
    )
    try:
        folder.create(settings, goal)
    except ConflictError:
        _require_same(folder, options)


def _parameters(method: str, options: CountOptions) -> dict[str, Scalar]:
    """What the method is told beyond seed and level. Labels answer one by one and do not err unless they are told to."""
    if method != "placing":
        if options.grid not in (None, 1) or options.wrong_answers not in (None, "none"):
            raise InputError(
                f"--grid and --wrong-answers are for the method placing: {method} asks pairs, and takes answers as they are"
            )
        return {}
    simulated = options.oracle == "labels"
    wrong_answers = options.wrong_answers or ("none" if simulated and not options.error_rate else "estimate")
    return {"grid": options.grid or 1, "wrong_answers": wrong_answers, "lanes": 1 if simulated else LANES}


def _require_same(folder: CampaignFolder, options: CountOptions) -> None:
    settings = folder.settings()
    if settings.kind != "count":
        raise InputError(f"campaign {folder.name!r} is a {settings.kind} campaign: choose another --campaign name")
    method = None if options.method in (None, "auto") else resolve_method(options.method)
    frozen = {"method": settings.method, "seed": settings.seed, "level": settings.level, "grid": 1, "wrong_answers": "none"}
    frozen |= settings.parameters
    wanted = {"method": method, **{name: getattr(options, name) for name in ("seed", "level", "grid", "wrong_answers")}}
    for name, given in wanted.items():
        if given is not None and given != frozen[name]:
            raise InputError(
                f"campaign {folder.name!r} was started with --{name.replace('_', '-')} {frozen[name]}, not {given}: "
                "leave the option out to go on, or choose another --campaign name"
            )


def _described(folder: CampaignFolder, settings: Settings, goal: Goal, reached: Progress[CountResult]) -> dict[str, Any]:
    result = reached.result
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
        "forecast_questions": forecast_questions(result, effort, goal.target_width),
        "warnings": [] if (warning := result.disagreement) is None else [warning],
        "details": dict(result.details),
        "pending": reached.pending,
        "contradictions": reached.contradictions,
    }
