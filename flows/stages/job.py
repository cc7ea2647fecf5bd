"""`cccount run`: the whole batch job of one file. Run again, or killed anywhere and run again, it does what is missing.

Nothing is written before everything that can be checked was checked. Every stage goes on by itself from what the workspace
holds, so there is no state of the job: how far it is, is read off the workspace.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

from cccount_dist.campaign.campaign import Campaign, CampaignStatus
from cccount_dist.campaign.options import require_same
from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.campaign.reporting import is_current
from cccount_dist.embedding.encoders import open_encoder
from cccount_dist.embedding.localfeatures import require_opencv
from cccount_dist.options import Options, Value
from flows.compute.logs import logged
from flows.stages.campaigns import Statuses
from flows.stages.initialise import is_unfinished, require_source
from flows.stages.jobfile import CampaignJob, Job
from flows.stages.registry import EMBED, INIT, MATCHES, NEIGHBORS, REPORT, Stage, stages
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.workspace import Workspace

State = Literal["done", "resumed", "skipped"]


@dataclass(frozen=True, slots=True)
class StageRun:
    """What became of one stage: `resumed` if part of it was there before, `skipped` if there was nothing to do."""

    stage: str
    state: State
    seconds: float
    campaign: str | None = optional()


@dataclass(frozen=True, slots=True)
class JobOutcome(Outcome):
    """What the whole job came to."""

    workspace: str
    stages: Sequence[StageRun]
    campaigns: Sequence[CampaignStatus]

    def words(self) -> str:
        computed = sum(one.state != "skipped" for one in self.stages)
        lines = [f"{self.workspace}: {computed} of {len(self.stages)} stages had something to do."]
        if self.campaigns:
            lines.append(Statuses(self.campaigns).words())
        if any(one.state == "waiting" for one in self.campaigns):
            lines.append(f"Questions wait for people: cccount review {self.workspace}")
        return "\n".join(lines)

    def json(self) -> dict[str, object]:
        return {**Outcome.json(self), "campaigns": [one.json() for one in self.campaigns]}


@dataclass(frozen=True, slots=True)
class Plan(Outcome):
    """The stages of a job that was checked and not run."""

    workspace: str
    stages: Sequence[str]

    def words(self) -> str:
        return f"{self.workspace}: {', '.join(self.stages)}.\nThe file is right; nothing was written."


class Doing(Protocol):
    """How a stage is run: plainly, or as a task of Prefect."""

    def __call__(self, stage: Stage, workspace: str, campaign: str | None, given: Mapping[str, Value]) -> Outcome: ...


def plainly(stage: Stage, workspace: str, campaign: str | None, given: Mapping[str, Value]) -> Outcome:
    """Run a stage in this process."""
    return stage(workspace, campaign, **given)


def check_job(job: Job) -> None:
    """Raise `InputError` for what cannot be done, as far as it can be known before anything is written."""
    where = job.where
    if (
        job.wants_embed
        and job.embed.encoder != "given"
        and not (job.collection and (job.collection.embeddings or job.collection.distances))
    ):
        with _explained(job, "embed"):
            open_encoder(job.embed.encoder)
    if job.wants_matches:
        with _explained(job, "matches"):
            require_opencv()
    if not Workspace.exists(job.workspace):
        if job.collection is None:
            where.refuse((), f"[collection] is missing: {job.workspace} is not there yet, and nothing says what is in it")
        with _explained(job, *(job.campaigns[0].place if job.campaigns else ())):
            if job.campaigns:  # what it is not told, no earlier campaign can tell it
                job.campaigns[0].options.parameters()
        return
    opened = Workspace.open(job.workspace)
    if job.collection is not None:
        with _explained(job, "collection"):
            require_source(opened, job.collection)
    for one in job.campaigns:
        folder = CampaignFolder(opened, one.name)
        if folder.exists:
            with _explained(job, *one.place):
                require_same(one.options, folder.settings(), one.name)


def run_job(job: Job, do: Doing = plainly) -> JobOutcome:
    """Do what is missing."""
    check_job(job)
    runs = [_initialised(job, do), _embedded(job, do), _neighbored(job, do)]
    runs += [_matched(job, do)] if job.wants_matches else []
    runs += [_campaigned(job, one, do) for one in job.campaigns]
    opened = Workspace.open(job.workspace)
    folders = [CampaignFolder(opened, one.name) for one in job.campaigns]
    runs.append(_reported(job, folders, do))
    return JobOutcome(job.workspace, runs, [Campaign(folder).status() for folder in folders])


def plan(job: Job) -> Plan:
    """Check everything and say which stages the job has; nothing is written."""
    check_job(job)
    return Plan(
        job.workspace,
        [
            "init",
            *(["embed"] if job.wants_embed else []),
            *(["neighbors"] if job.wants_neighbors else []),
            *(["matches"] if job.wants_matches else []),
            *(f"{one.options.kind} {one.name} ({one.options.chosen.name})" for one in job.campaigns),
            "report",
        ],
    )


def _initialised(job: Job, do: Doing) -> StageRun:
    there = Workspace.exists(job.workspace)
    given = job.collection is not None and bool(job.collection.embeddings or job.collection.distances)
    if job.collection is None or (there and not (given and is_unfinished(Workspace.open(job.workspace)))):
        return _told(StageRun("init", "skipped", 0.0))
    with _explained(job, "collection"):
        return _run(job, do, INIT, job.collection, resumed=there)


def _embedded(job: Job, do: Doing) -> StageRun:
    from flows.stages.embed import standing

    options = job.embed
    plain = options.encoder in ("auto", "given") and options.components is None and options.map != "auto"
    if not job.wants_embed or (plain and _is_given(job.workspace)):
        return _told(StageRun("embed", "skipped", 0.0))
    with _explained(job, "embed"):
        reached = standing(job.workspace, options.encoder, options.components, options.map)
        if reached == "complete":
            return _told(StageRun("embed", "skipped", 0.0))
        return _run(job, do, EMBED, options, resumed=reached == "partial")


def _neighbored(job: Job, do: Doing) -> StageRun:
    from flows.stages.neighbors import standing

    if not job.wants_neighbors:
        return _told(StageRun("neighbors", "skipped", 0.0))
    options = job.neighbors
    with _explained(job, "neighbors"):
        reached = standing(
            job.workspace,
            k=options.k,
            metric=options.metric,
            engine=options.engine,
        )
        if reached == "complete":
            return _told(StageRun("neighbors", "skipped", 0.0))
        return _run(job, do, NEIGHBORS, options, resumed=reached == "partial")


def _matched(job: Job, do: Doing) -> StageRun:
    from flows.stages.matches import standing

    with _explained(job, "matches"):
        reached = standing(job.workspace, nearest=job.matches.nearest)
        if reached == "complete":
            return _told(StageRun("matches", "skipped", 0.0))
        return _run(job, do, MATCHES, job.matches, resumed=reached == "partial")


def _campaigned(job: Job, one: CampaignJob, do: Doing) -> StageRun:
    """Start the campaign or go on with it. Whether there was something to do is seen from what it is afterwards."""
    folder = CampaignFolder(Workspace.open(job.workspace), one.name)
    before = _standing(folder)
    preparing = [job.preparing(one)] if one.kind.prepares else []
    with _explained(job, *one.place):
        done = _run(job, do, stages()[one.options.kind], one.options, *preparing, campaign=one.name, quiet=True)
    state: State = "done" if before is None else "skipped" if before == _standing(folder) else "resumed"
    return _told(StageRun(done.stage, state, done.seconds, one.name))


def _reported(job: Job, folders: Sequence[CampaignFolder], do: Doing) -> StageRun:
    due = tuple(folder.name for folder in folders if not is_current(folder))
    if not due:
        return _told(StageRun("report", "skipped", 0.0))
    began = time.perf_counter()
    with logged("report", workspace=job.workspace):
        do(REPORT, job.workspace, None, {"campaigns": due})
    return _told(StageRun("report", "done", time.perf_counter() - began))


def _run(
    job: Job,
    do: Doing,
    stage: Stage,
    *options: Options,
    campaign: str | None = None,
    resumed: bool = False,
    quiet: bool = False,
) -> StageRun:
    names = {one.name for one in stage.parameters}
    given = {name: value for part in options for name, value in part.values().items() if name in names}
    began = time.perf_counter()
    with logged(stage.name, workspace=job.workspace, campaign=campaign):
        do(stage, job.workspace, campaign, given)
    done = StageRun(stage.name, "resumed" if resumed else "done", time.perf_counter() - began, campaign)
    return done if quiet else _told(done)


def _told(done: StageRun) -> StageRun:
    """Say what became of a stage, on standard error."""
    seconds = f", {done.seconds:.1f} s" if done.state != "skipped" else ": nothing to do"
    name = done.stage if done.campaign in (None, done.stage) else f"{done.stage} {done.campaign}"
    sys.stderr.write(f"{name}: {done.state}{seconds}\n")
    sys.stderr.flush()
    return done


def _standing(folder: CampaignFolder) -> tuple[CampaignStatus, object] | None:
    """Where a campaign stands and what it should reach; None if there is none yet."""
    return (Campaign(folder).status(), folder.goal()) if folder.exists else None


def _is_given(workspace: str) -> bool:
    from cccount_dist.embedding.given import ATTRIBUTES, is_of_distances
    from storage.schema import EMBEDDINGS, ENCODED

    opened = Workspace.open(workspace)
    there = [opened.array(one).attributes for one in (ENCODED, EMBEDDINGS) if opened.has_array(one)]
    return any(one == ATTRIBUTES or is_of_distances(one) for one in there)


@contextmanager
def _explained(job: Job, *steps: str | int) -> Iterator[None]:
    """Let a refusal of a stage be one about the file: with its line, and its keys instead of options."""
    try:
        yield
    except InputError as error:
        job.where.explain(steps, error)


__all__ = ["Doing", "JobOutcome", "StageRun", "check_job", "plainly", "plan", "run_job"]
