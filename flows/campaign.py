"""Count campaigns from the front door: start or go on, advance by one step, say where every campaign stands."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from cccount_dist.campaign import Campaign
from cccount_dist.counting.forecast import forecast_questions
from cccount_dist.counting.methods import resolve_method
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.runner import CountRunner
from cccount_dist.inputs import Inputs, load_inputs
from cccount_dist.runner import Progress
from flows.progress import progress, progress_when_needed
from storage.campaigns import CampaignFolder
from storage.errors import ConflictError, InputError
from storage.settings import Goal, Settings
from storage.version import __version__
from storage.workspace import Workspace

SECONDS_PER_PAIR = 9.0  # measured on people: about 400 decisions an hour


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

    def __post_init__(self) -> None:
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
    goal = Goal(options.budget, options.oracle, options.error_rate, options.target_width)
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
    settings = Settings(
        kind="count",
        method=resolve_method(options.method or "auto"),
        seed=options.seed or 0,
        level=options.level if options.level is not None else 0.95,
        metric=inputs.metric,
        items=inputs.countable,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        parameters={},
        fingerprints=inputs.fingerprints,
    )
    try:
        folder.create(settings, goal)
    except ConflictError:
        _require_same(folder, options)


def _require_same(folder: CampaignFolder, options: CountOptions) -> None:
    settings = folder.settings()
    if settings.kind != "count":
        raise InputError(f"campaign {folder.name!r} is a {settings.kind} campaign: choose another --campaign name")
    method = None if options.method in (None, "auto") else resolve_method(options.method)
    for name, given in (("method", method), ("seed", options.seed), ("level", options.level)):
        frozen = getattr(settings, name)
        if given is not None and given != frozen:
            raise InputError(
                f"campaign {folder.name!r} was started with --{name} {frozen}, not {given}: "
                "leave the option out to go on, or choose another --campaign name"
            )


def _described(folder: CampaignFolder, settings: Settings, goal: Goal, reached: Progress[CountResult]) -> dict[str, Any]:
    result = reached.result
    return {
        "campaign": folder.name,
        "method": settings.method,
        "estimate": result.estimate,
        "low": result.low,
        "high": result.high,
        "level": result.level,
        "questions": reached.questions,
        "glances": 0,
        "human_seconds": reached.questions * SECONDS_PER_PAIR,
        "inferred": reached.inferred,
        "state": reached.state,
        "forecast_questions": forecast_questions(result, reached.questions, goal.target_width),
        "pending": reached.pending,
        "contradictions": reached.contradictions,
    }
