"""Starting, advancing and describing a campaign, whatever its kind: inputs are loaded once, the lease is taken once.

A step costs its batch; opening costs what came since the last snapshot (`replayed.py`), and with nothing new a step costs a look
(`standing_still.py`). Reading where campaigns stand costs their logs.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cccount_dist.campaign.epochs import KNOWLEDGE, epoch_words
from cccount_dist.campaign.inputs import Inputs, items_alone, load_inputs, with_matches, with_sides
from cccount_dist.campaign.kind import KINDS, CampaignKind
from cccount_dist.campaign.options import TOGETHER, CampaignOptions, require_same
from cccount_dist.campaign.outcome import CampaignOutcome
from cccount_dist.campaign.preparation import Cluster
from cccount_dist.campaign.progress import Progressing, silent, when_needed
from cccount_dist.campaign.standing_still import keep_outcome, last_outcome
from cccount_dist.room import Size
from cccount_dist.sampling.methods import Method, find_method
from cccount_dist.taken import TAKEN, require_for
from storage.campaigns import CampaignFolder
from storage.errors import ConflictError, CorruptionError, LeaseError
from storage.lease import Lease
from storage.schema import NEIGHBOR_INDEX
from storage.settings import Goal, Scalar, Settings
from storage.version import __version__
from storage.workspace import Workspace

if TYPE_CHECKING:
    from cccount_dist.campaign.runner import CampaignRunner, Progress


PATIENCE_SECONDS = 2.0  # that a step waits for another process to let go of the campaign


@dataclass(frozen=True, slots=True)
class Started:
    """A campaign that was started or found, with its inputs where they were needed for that."""

    folder: CampaignFolder
    inputs: Inputs | None = None
    note: str | None = None  # what was decided for the user


def kind_of(folder: CampaignFolder) -> CampaignKind[Any]:
    """The kind that the campaign was started as."""
    return KINDS.get(folder.settings().kind)


def start(workspace: Workspace, name: str, options: CampaignOptions, progress: Progressing = silent) -> Started:
    """Start the campaign, or set a new goal for the one that is there; `InputError` if it was started with other settings."""
    folder = CampaignFolder(workspace, name)
    if folder.exists:
        require_same(options, folder.settings(), name)
        folder.set_goal(_with_words(options.goal(), folder))
        return Started(folder)
    kind = KINDS.get(options.kind)
    options, note = kind.completed(options, workspace)
    parameters = options.parameters()
    inputs = read_inputs(workspace, kind, options.chosen.name, parameters, progress)
    kind.check(options, inputs)
    try:
        goal = options.goal()
        folder.create(_settings(options, parameters, inputs), replace(goal, noun=goal.noun or workspace.noun))
    except ConflictError:  # another process started it meanwhile
        require_same(options, folder.settings(), name)
    return Started(folder, inputs, note)


def advance(
    folder: CampaignFolder,
    *,
    inputs: Inputs | None = None,
    to_the_end: bool = False,
    cluster: Cluster | None = None,
    progress: Progressing = silent,
    strict: bool = False,
) -> CampaignOutcome:
    """Take one step, or go on until the campaign is done or waits for people.

    `strict`: a log that the present code does not replay is refused; otherwise the campaign goes on in a new epoch.
    """
    kind, settings = kind_of(folder), folder.settings()
    _check_oracle(kind, folder)
    inputs = inputs or read_inputs(folder.workspace, kind, settings.method, settings.parameters, progress)
    with patient_lease(folder, PATIENCE_SECONDS) as lease:
        if cluster is not None:
            kind.prepare(folder, inputs, cluster)
        if (still := last_outcome(folder, inputs, opening=to_the_end, strict=strict)) is not None:
            return still
        runner = kind.runner(folder, lease, inputs, strict=strict)
        reached = _reached(runner, f"{kind.doing} ({settings.method})", progress) if to_the_end else runner.step()
        said = kind.outcome(folder, reached, inputs, opening=to_the_end)
        outcome = replace(said, epoch=epoch_words(folder.epochs()))
        lease.check()
        keep_outcome(folder, inputs, runner, outcome, opening=to_the_end)
        return outcome


def _check_oracle(kind: CampaignKind[Any], folder: CampaignFolder) -> None:
    """Raise `CorruptionError` if the goal names somebody who answers no campaign of this kind: nobody answers in their place."""
    oracle, known = folder.goal().oracle, kind.options.oracles
    if oracle not in known:
        where = f"goal.toml of campaign {folder.name!r}"
        raise CorruptionError(f"{where} is damaged (oracle must be {' or '.join(known)}, not {oracle!r}): {Goal.repair}")


def patient_lease(folder: CampaignFolder, seconds: float) -> Lease:
    """Take the lease; wait so long for a process that holds it, as the engine of a review page does for a moment at a time."""
    ends = time.monotonic() + seconds
    while True:
        try:
            return folder.lease()
        except LeaseError:
            if time.monotonic() >= ends:
                raise
            time.sleep(0.05)


def _reached(runner: "CampaignRunner[Any]", doing: str, progress: Progressing) -> "Progress[Any]":
    """Take steps until the campaign is done or waits for people."""
    goal = runner.folder.goal()
    with progress(doing, goal.budget, "answers") as update:
        reached = runner.step()
        while True:  # a page counts as it does in the budget
            update(min(goal.budget, reached.questions + round(reached.glances * goal.page_cost)))
            if reached.state != "running":
                break
            reached = runner.step()
    return reached


def read_inputs(
    workspace: Workspace, kind: CampaignKind[Any], method: str, parameters: Mapping[str, Scalar], progress: Progressing = silent
) -> Inputs:
    """What the sampler reads. On a host that has no row cache yet this takes a while."""
    require_for("campaign", workspace)
    if not kind.needs_vectors(method, parameters):
        inputs = items_alone(workspace)
    else:
        with when_needed(progress, "Reading vectors", "vectors") as report:
            inputs = load_inputs(workspace, report)
        if find_method(kind.name, method).takes("matches"):
            inputs = with_matches(inputs, workspace)
    if keeps_sides(kind, parameters):
        inputs = with_sides(inputs, workspace)
    _require_memory(workspace, find_method(kind.name, method), parameters, inputs)
    return inputs


def keeps_sides(kind: CampaignKind[Any], parameters: Mapping[str, Scalar]) -> bool:
    """Whether pictures of different sides are never compared, where there are sides."""
    return kind.keeps_sides and parameters.get("sides") != TOGETHER


def _require_memory(workspace: Workspace, method: Method, parameters: Mapping[str, Scalar], inputs: Inputs) -> None:
    """Refuse a sampler that cannot have the memory that it would take, before anything is written or computed."""
    k = workspace.array(NEIGHBOR_INDEX).shape[1] if workspace.has_array(NEIGHBOR_INDEX) else 0
    told = parameters.get("clusters")
    size = Size(inputs.countable, inputs.vectors.shape[1], k, int(told) if told is not None else None)
    given = {name: value for name, value in parameters.items() if method.has(name)}
    method.require_memory(size, given, TAKEN["campaign"].bytes)


def method_of(workspace: Workspace, name: str, options: CampaignOptions) -> Method:
    """The method of a campaign that is there, or that a new one would have."""
    folder = CampaignFolder(workspace, name)
    if not folder.exists:
        return options.chosen
    settings = folder.settings()
    return find_method(settings.kind, settings.method)


def state_of(folder: CampaignFolder, last: Mapping[str, Any] | None) -> str:
    """The state that the last row of the results tells; a step that nobody is taking any more is `stopped`."""
    if was_interrupted(folder, last):
        return "stopped"
    return str(last["state"]) if last else "running"


def was_interrupted(folder: CampaignFolder, last: Mapping[str, Any] | None) -> bool:
    """Whether a step was begun, did not end, and nobody is taking it: it was killed, and `advance` goes on with it."""
    return (last is None or last["state"] == "running") and not folder.is_being_advanced


def _with_words(goal: Goal, folder: CampaignFolder) -> Goal:
    """A new goal keeps the words of the old one that were not given again; one that is damaged has none, and is mended so."""
    try:
        before = folder.goal()
    except CorruptionError:
        return goal
    return replace(goal, noun=goal.noun or before.noun, question=goal.question or before.question)


def _settings(options: CampaignOptions, parameters: dict[str, Scalar], inputs: Inputs) -> Settings:
    level = getattr(options, "level", None)
    return Settings(
        kind=options.kind,
        method=options.chosen.name,
        seed=options.seed or 0,
        level=0.95 if level is None else level,
        metric=inputs.metric or "none",
        items=inputs.countable,
        started_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        parameters=parameters,
        fingerprints=inputs.fingerprints,
        overlap=options.overlap if options.overlap != 1 else None,
        revision=options.chosen.revision,
        preset=options.preset,
        knowledge=KNOWLEDGE,
    )
