"""Campaigns from the front door, whatever they are about: start or go on, advance by one step, say where each one stands."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from cccount_dist.campaign import Campaign
from cccount_dist.clustering.methods import RATING_METHODS, check_clusters, needs_vectors
from cccount_dist.clustering.spectral.parameters import check_items
from cccount_dist.inputs import Inputs, items_alone, load_inputs
from cccount_dist.review.standing import state_of
from cccount_dist.runner import CampaignRunner, Progress
from cccount_dist.sampling.settling import check_overlap
from flows.progress import progress, progress_when_needed
from storage.campaigns import RESULTS, CampaignFolder
from storage.errors import ConflictError, InputError
from storage.schema import ESTIMATES
from storage.settings import Goal, Scalar, Settings
from storage.version import __version__
from storage.workspace import Workspace

ResultT = TypeVar("ResultT")


class Options(Protocol):
    """What a command was told; None where the user said nothing and the campaign's own setting holds."""

    @property
    def method(self) -> str | None: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def level(self) -> float | None: ...
    @property
    def budget(self) -> int: ...
    @property
    def oracle(self) -> str: ...
    @property
    def error_rate(self) -> float: ...
    @property
    def overlap(self) -> int | None: ...

    @property
    def resolved_method(self) -> str:
        """The method's own name, also where the user said `auto`."""

    def goal(self) -> Goal:
        """How far the campaign should go, and who answers."""

    def parameters(self) -> dict[str, Scalar]:
        """What the method is told beyond seed and level."""

    @property
    def without(self) -> dict[str, object]:
        """What a campaign that was started without one of these parameters has instead."""

    @property
    def named(self) -> dict[str, Scalar]:
        """Parameters of the method that were given by name: `--parameter NAME=VALUE`."""


def check_common(options: Options, oracles: tuple[str, ...] = ("people", "labels")) -> None:
    """Raise `InputError` for values that no campaign can be run with."""
    if options.budget < 0:
        raise InputError(f"--budget must be 0 or more, not {options.budget}")
    if options.seed is not None and options.seed < 0:
        raise InputError(f"--seed must be 0 or more, not {options.seed}")
    if not 0.0 <= options.error_rate <= 1.0:
        raise InputError(f"--error-rate must lie between 0 and 1, not {options.error_rate}")
    if options.oracle not in oracles:
        raise InputError(f"--oracle takes {' or '.join(oracles)}, not {options.oracle!r}")
    if options.overlap is not None:
        check_overlap(options.overlap)
        if options.oracle != "people" and options.overlap > 1:
            raise InputError("--overlap is for --oracle people: labels answer each question once")
    if options.oracle == "people" and options.error_rate:
        raise InputError("--error-rate is for --oracle labels: people err by themselves")


def named_parameters(given: Sequence[str]) -> dict[str, Scalar]:
    """Return what `--parameter NAME=VALUE` says, for the method.

    >>> named_parameters(["nearest=3", "threshold=0.5", "refit=false", "recall=top"])
    {'nearest': 3, 'threshold': 0.5, 'refit': False, 'recall': 'top'}
    """
    named: dict[str, Scalar] = {}
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name or not text:
            raise InputError(f"--parameter {one!r}: write NAME=VALUE")
        named[name] = _scalar(text)
    return named


def _scalar(text: str) -> Scalar:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def open_campaign(workspace: str, name: str, kind: str, options: Options) -> CampaignFolder:
    """Start the campaign, or set a new goal for the one that is there; `InputError` if it was started with other settings."""
    folder = CampaignFolder(Workspace.open(workspace), name)
    if not folder.exists:
        try:
            folder.create(_settings(folder, kind, options), options.goal())
        except ConflictError:  # another process started it meanwhile
            _require_same(folder, kind, options)
        return folder
    _require_same(folder, kind, options)
    folder.set_goal(options.goal())
    return folder


def _settings(folder: CampaignFolder, kind: str, options: Options) -> Settings:
    method, parameters = options.resolved_method, options.parameters()
    inputs = open_inputs(folder, vectors=kind != "cluster" or needs_vectors(method, parameters))
    # Before a campaign is frozen that could never run.
    if kind == "cluster" and method in RATING_METHODS:
        check_items(method, int(parameters.get("clusters", 2)), inputs.countable)
    elif clusters := int(parameters.get("clusters", 0)):
        check_clusters(clusters, inputs.countable)
    return Settings(
        kind=kind,
        method=method,
        seed=options.seed or 0,
        level=options.level if options.level is not None else 0.95,
        metric=inputs.metric or "none",
        items=inputs.countable,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        parameters=parameters,
        fingerprints=inputs.fingerprints,
        overlap=options.overlap if options.overlap != 1 else None,
    )


def _require_same(folder: CampaignFolder, kind: str, options: Options) -> None:
    settings = folder.settings()
    if settings.kind != kind:
        raise InputError(f"campaign {folder.name!r} is a {settings.kind} campaign: choose another --campaign name")
    frozen: dict[str, object] = {"method": settings.method, "seed": settings.seed, "level": settings.level}
    frozen["overlap"] = settings.overlap or 1
    frozen |= options.without | settings.parameters
    wanted: dict[str, object] = {name: getattr(options, name, None) for name in frozen}
    wanted["method"] = None if options.method in (None, "auto") else options.resolved_method
    for name, given in (wanted | options.named).items():
        if given is not None and given != frozen.get(name):
            option = f"--parameter {name}=" if name in options.named else f"--{name.replace('_', '-')} "
            said = f"with {option}{frozen[name]}, not {given}" if name in frozen else f"without {option}{given}"
            raise InputError(
                f"campaign {folder.name!r} was started {said}: leave the option out to go on, or choose another --campaign name"
            )


def open_inputs(folder: CampaignFolder, *, vectors: bool = True) -> Inputs:
    """What the sampler reads. On a host that has no row cache yet this takes a while, so it is done with a bar."""
    if not vectors:
        return items_alone(folder.workspace)
    with progress_when_needed("Reading vectors", "vectors") as report:
        return load_inputs(folder.workspace, report)


def run_to_the_end(runner: CampaignRunner[ResultT], what: str, budget: int) -> Progress[ResultT]:
    """Step until the campaign is done or waits for people."""
    with progress(what, budget, "answers") as update:
        reached = runner.step()
        update(reached.questions)
        while reached.state == "running":
            reached = runner.step()
            update(reached.questions)
    return reached


def advance(workspace: str, campaign: str) -> dict[str, Any]:
    """One idempotent step: what a scheduled run does."""
    from flows.counting import advance_count
    from flows.grouping import advance_grouping
    from flows.subcluster import advance_subclusters

    folder = CampaignFolder(Workspace.open(workspace), campaign)
    kinds = {"count": advance_count, "cluster": advance_grouping, "subcluster": advance_subclusters}
    return kinds[folder.settings().kind](folder)


def status(workspace: str, campaign: str | None = None) -> dict[str, Any]:
    """Where every campaign stands, and what it waits for. Reads only: any number of people may look."""
    opened = Workspace.open(workspace)
    names = opened.campaigns() if campaign is None else [campaign]
    return {"campaigns": [_status(opened, name) for name in names]}


def _status(workspace: Workspace, name: str) -> dict[str, Any]:
    folder = CampaignFolder(workspace, name)
    opened = Campaign(folder)
    ledger, asked = opened.ledger, opened.questions
    spec, fields = RESULTS[opened.settings.kind]
    last = folder.last_row(spec)
    return {
        "campaign": name,
        "method": opened.settings.method,
        "state": state_of(folder, last),
        "questions": ledger.questions,
        "answers": ledger.position,
        "pending": len(ledger.pending(asked)),
        "contradictions": ledger.contradictions,
        "result": {name: last[name] for name in fields} if last else None,
    }


def counted_clusters(workspace: Workspace) -> tuple[str, dict[str, Any]] | None:
    """K for a campaign that was not told it: the count campaign with the most answers, and the newest row of its estimates."""
    found = {}
    for name in workspace.campaigns():
        folder = CampaignFolder(workspace, name)
        last = folder.last_row(ESTIMATES) if folder.settings().kind == "count" else None
        if last is not None and last["estimate"] is not None:
            found[name] = last
    return max(found.items(), key=lambda one: (one[1]["answers"], one[0]), default=None)
