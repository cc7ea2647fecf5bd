"""`cccount deploy`: work pool, deployments and heartbeat automation on the Prefect server, from the file of `cccount run`.

`prefect.yaml` beside this file says what the deployments are; the file of the job fills in workspace, sections, campaigns (one
`advance-NAME` for each) and schedules. Run it again at any time: everything is replaced by what it says now.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from importlib import import_module
from importlib.resources import files

import yaml
from prefect.automations import Automation, EventTrigger, Posture
from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import DeploymentScheduleCreate, WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions, StateType
from prefect.client.schemas.schedules import CronSchedule, IntervalSchedule
from prefect.events.actions import ChangeFlowRunState
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.flows import Flow
from prefect.utilities.callables import parameter_schema

from cccount_dist.campaign.outcome import Outcome
from flows.orchestration.recording import server_url
from flows.stages.jobfile import Job
from storage.errors import InputError

ZOMBIES = "cccount: runs whose heartbeat stopped"
SILENCE = timedelta(seconds=120)  # four heartbeats of 30 s: a run that is only slow is not taken for dead


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many runs at a time, and what becomes of one too many; None: it waits."""

    limit: int
    collision_strategy: str | None = None
    grace_period_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """A flow with its parameters and when it runs."""

    name: str
    description: str
    entrypoint: str
    concurrency: Concurrency
    cron: str | None = None
    every: float | None = None  # seconds, instead of `cron`
    parameters: Mapping[str, object] = field(default_factory=dict)
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PrefectFile:
    """What `prefect.yaml` says."""

    pool: str
    env: Mapping[str, str]
    deployments: Sequence[Deployment]

    @classmethod
    def read(cls) -> "PrefectFile":
        """Read the file that comes with the package."""
        found = yaml.safe_load((files("flows.orchestration") / "prefect.yaml").read_text(encoding="utf-8"))
        rows = [Deployment(**{**row, "concurrency": Concurrency(**row["concurrency"])}) for row in found["deployments"]]
        return cls(found["pool"], found["env"], rows)


@dataclass(frozen=True, slots=True)
class Deployed(Outcome):
    """What is on the server now."""

    server: str
    pool: str
    deployments: Sequence[str]
    workspace: str

    def words(self) -> str:
        return (
            f"{self.workspace} on {self.server}: {', '.join(self.deployments)}.\n"
            f"Work on it: prefect worker start --pool {self.pool}\n"
            f"Start it: prefect deployment run {next(name for name in self.deployments if 'pipeline' in name)}"
        )


def filled_in(document: PrefectFile, job: Job, *, every: float | None = None, name: str | None = None) -> list[Deployment]:
    """Return the deployments of a job; `every` replaces the schedule of `advance` by an interval in seconds."""
    return [replace(one, name=f"{_before(name)}{one.name}") for row in document.deployments for one in _of_job(row, job, every)]


def _before(name: str | None) -> str:
    return "" if name is None else f"{name}-"


def _of_job(row: Deployment, job: Job, every: float | None) -> Iterator[Deployment]:
    schedule = job.schedule
    if row.name == "pipeline":
        yield replace(row, parameters=job.content)
    elif row.name == "verify":
        yield replace(row, parameters={"workspace": job.workspace}, cron=schedule.verify or row.cron)
    else:
        every = every or schedule.every
        for one in job.campaigns:
            yield replace(
                row,
                name=f"{row.name}-{one.name}",
                parameters={"workspace": job.workspace, "campaign": one.name, "to_come": True},
                tags=[f"campaign:{one.name}"],
                every=every,
                cron=None if every else schedule.cron or row.cron,
            )


def zombie_automation() -> Automation:
    """A run that has sent a heartbeat, and then neither another nor its end, is marked as crashed: it frees its concurrency slot.

    Crashed is only a label. The next schedule goes on from the workspace, and should the run live after all, its lease is fenced.
    It is not forced: of a run that the schedule made, automations hear the end 15 minutes late (they wait for an event
    "Scheduled" that is never sent), so this fires for every run, and the server refuses it for those that have ended.
    """
    ends = ("Completed", "Failed", "Cancelled", "Crashed", "Cancelling", "Paused", "Suspended")
    return Automation(
        name=ZOMBIES,
        trigger=EventTrigger(
            after={"prefect.flow-run.heartbeat"},
            expect={"prefect.flow-run.heartbeat", *(f"prefect.flow-run.{end}" for end in ends)},
            match={"prefect.resource.id": "prefect.flow-run.*"},
            for_each={"prefect.resource.id"},
            posture=Posture.Proactive,
            threshold=1,
            within=SILENCE,
        ),
        actions=[ChangeFlowRunState(name="Zombie", state=StateType.CRASHED, message="its heartbeat stopped", force=False)],
    )


def deploy(job: Job, *, every: float | None = None, name: str | None = None) -> Deployed:
    """Make everything that scheduled runs need, on the server that the environment or the profile names."""
    if every is not None and not every > 0:
        raise InputError(f"--every must be above 0, not {every:g}")
    document = PrefectFile.read()
    wanted = filled_in(document, job, every=every, name=name)
    schedules = [_schedules(job, one) for one in wanted]  # first: a wrong one is refused before anything is made
    with get_client(sync_client=True) as client:
        for one in wanted:
            _refuse_other(client, one, job.workspace)
        _make_pool(client, document.pool)
        _replace_automation()
        made = [_apply(client, document, one, due) for one, due in zip(wanted, schedules, strict=True)]
        _remove_others(client, job.workspace, [one.name for one in wanted], f"{_before(name)}advance-")
    return Deployed(server_url() or "", document.pool, made, job.workspace)


def _apply(client: SyncPrefectClient, document: PrefectFile, one: Deployment, schedules: list[DeploymentScheduleCreate]) -> str:
    flow = _flow(one.entrypoint)
    strategy = one.concurrency.collision_strategy
    options = None if strategy is None else ConcurrencyOptions(
        collision_strategy=ConcurrencyLimitStrategy(strategy), grace_period_seconds=one.concurrency.grace_period_seconds
    )  # fmt: skip
    client.create_deployment(  # one of the same name is replaced
        flow_id=client.create_flow_from_name(flow.name),
        name=one.name,
        description=one.description,
        entrypoint=one.entrypoint,
        pull_steps=[],  # the package is installed where the worker is
        work_pool_name=document.pool,
        job_variables={"env": dict(document.env)},
        parameters=dict(one.parameters),
        parameter_openapi_schema=parameter_schema(flow).model_dump(),
        enforce_parameter_schema=True,
        schedules=schedules,
        concurrency_limit=one.concurrency.limit,
        concurrency_options=options,
        tags=list(one.tags),
    )
    return f"{flow.name}/{one.name}"


def _schedules(job: Job, one: Deployment) -> list[DeploymentScheduleCreate]:
    if one.every is not None:
        return [DeploymentScheduleCreate(schedule=IntervalSchedule(interval=timedelta(seconds=one.every)))]
    if one.cron is None:
        return []
    try:
        return [DeploymentScheduleCreate(schedule=CronSchedule(cron=one.cron, timezone="UTC"))]
    except ValueError:
        key = "verify" if one.name.endswith("verify") else "cron"
        job.where.refuse(("schedule", key), f"{key} of [schedule] is no schedule that Prefect knows: {one.cron!r}")


def _refuse_other(client: SyncPrefectClient, one: Deployment, workspace: str) -> None:
    """Two jobs on one server have two names: none of them takes the other's place silently."""
    flow = _flow(one.entrypoint)
    try:
        there = client.read_deployment_by_name(f"{flow.name}/{one.name}")
    except ObjectNotFound:
        return
    other = (there.parameters or {}).get("workspace")
    if other != workspace:
        raise InputError(
            f"the server has a deployment {one.name} of the workspace {other}: give this job another name with --name"
        )


def _remove_others(client: SyncPrefectClient, workspace: str, made: Sequence[str], beginning: str) -> None:
    """A campaign that is no longer in the file is no longer advanced."""
    similar = DeploymentFilter(name=DeploymentFilterName(like_=beginning))
    for one in client.read_deployments(deployment_filter=similar):
        ours = one.name.startswith(beginning) and (one.parameters or {}).get("workspace") == workspace
        if ours and one.name not in made:
            client.delete_deployment(one.id)


def _make_pool(client: SyncPrefectClient, name: str) -> None:
    with suppress(ObjectAlreadyExists):
        client.create_work_pool(WorkPoolCreate(name=name, type="process"))


def _replace_automation() -> None:
    with suppress(ValueError):  # there is none yet
        Automation.read(name=ZOMBIES).delete()  # type: ignore[attr-defined] # a coroutine only inside a loop
    zombie_automation().create()


def _flow(entrypoint: str) -> Flow[..., object]:
    """Return one of our own flows. Prefect's loader would look into the current folder first, and run what lies there."""
    module, _, name = entrypoint.rpartition(".")
    found = getattr(import_module(module), name)
    if not isinstance(found, Flow):
        raise InputError(f"{entrypoint} is no flow")
    return found


__all__ = ["Concurrency", "Deployed", "Deployment", "PrefectFile", "deploy", "filled_in", "zombie_automation"]
