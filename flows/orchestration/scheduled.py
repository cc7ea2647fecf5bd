"""The Prefect flows: what deployments schedule, and what the command line runs when a Prefect server is configured.

A flow for each stage of the registry, with the stage's options as its parameters; `advance`, which deployments run every few
minutes; and `pipeline`, the whole batch job of a file. A Prefect task is a stage; shards and tiles are Dask tasks inside it.
Prefect's state is never the truth about a campaign or an array: a crashed run is run again, and goes on from the workspace.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from prefect import Flow, Task, flow, get_run_logger, task
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Completed

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.options import Declared, Value
from flows.compute.logs import logged
from flows.orchestration.artifacts import show_campaign
from flows.stages.campaigns import Advanced, advance_campaign
from flows.stages.job import JobOutcome, run_job
from flows.stages.jobfile import Job
from flows.stages.registry import INIT, REPORT, Stage, stages
from flows.stages.tomllines import Where
from storage.campaigns import CampaignFolder
from storage.errors import ComputeError, LeaseError
from storage.workspace import Workspace

Run = Flow[..., Outcome]
Parameter = inspect.Parameter


async def _worth_retrying(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """A lost cluster comes back; wrong input does not."""
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, ComputeError)


async def _worth_waiting(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """Beside a schedule, a campaign may be in the middle of a step: that is over in a moment."""
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, ComputeError | LeaseError)


def stage_task(stage: Stage, retry: Callable[..., Any] = _worth_retrying) -> Task[..., Outcome]:
    """The stage as a task, with its options as parameters; `retry` says of which failures it is tried again."""

    def run(workspace: str, campaign: str | None = None, **given: Any) -> Outcome:
        return stage(workspace, campaign, **given)

    _declare(run, stage)
    return task(name=stage.name, retries=2, retry_delay_seconds=10, retry_condition_fn=retry)(run)


def stage_flow(stage: Stage) -> Run:
    """A flow with the parameters of the stage, which is its only task."""
    work = stage_task(stage)

    def run(**given: Any) -> Outcome:
        done: Outcome = work(**given)
        return done

    _declare(run, stage)
    return flow(name=f"cccount-{stage.name}")(run)


def _declare(function: Any, stage: Stage) -> None:
    """Let a function have the parameters that the stage declares: Prefect reads and checks them."""
    leading = [Parameter("workspace", Parameter.KEYWORD_ONLY, annotation=str)]
    if stage.campaign is not None:
        leading.append(Parameter("campaign", Parameter.KEYWORD_ONLY, annotation=str, default=stage.campaign))
    function.__name__ = stage.name
    function.__doc__ = stage.help
    function.__signature__ = inspect.Signature([*leading, *map(_parameter, stage.parameters)])


def _parameter(one: Declared) -> Parameter:
    kind: Any = tuple[str, ...] if one.type is tuple else one.type
    annotation = kind | None if one.optional else kind
    return Parameter(one.name, Parameter.KEYWORD_ONLY, annotation=annotation, default=one.default)


TASKS = {stage.name: stage_task(stage, _worth_waiting) for stage in (INIT, REPORT, *stages().values())}


@task(name="advance", retries=2, retry_delay_seconds=10, retry_condition_fn=_worth_retrying)
def advance_stage(workspace: str, campaign: str) -> Advanced:
    """One step, and the report if the result has changed."""
    return advance_campaign(workspace, campaign)


@flow(name="cccount-advance")
def advance(workspace: str, campaign: str, to_come: bool = False) -> Any:  # noqa: FBT001, FBT002  Prefect's parameters
    """Advance a campaign by one idempotent step. Another process at work on it is no failure: that run is skipped.

    `to_come`: the pipeline starts the campaign one day, and until then there is nothing to do.
    """
    if to_come and not _is_started(workspace, campaign):
        return Completed(name="Skipped", message=f"the pipeline has not started {campaign} yet")
    try:
        with logged("advance", workspace=workspace, campaign=campaign) as outcome:
            done = advance_stage(workspace, campaign)
            outcome.update(questions=done.reached.questions, state=done.reached.state, pending=done.reached.pending)
    except LeaseError as error:
        get_run_logger().info("skipped: %s", error)
        return Completed(name="Skipped", message=str(error))
    show_campaign(workspace, done)
    return done


def _is_started(workspace: str, campaign: str) -> bool:
    return Workspace.exists(workspace) and CampaignFolder(Workspace.open(workspace), campaign).exists


Given = dict[str, object]  # a section of the file of `cccount run`: its keys and values


@flow(name="cccount-pipeline")
def pipeline(
    workspace: str,
    collection: Given | None = None,
    compute: Given | None = None,
    embed: Given | None = None,
    neighbors: Given | None = None,
    matches: Given | None = None,
    campaign: list[Given] | None = None,
    schedule: Given | None = None,
) -> JobOutcome:
    """Do the whole batch job: the parameters are the sections of the file of `cccount run`. Again it does what is missing."""
    said = {
        "collection": collection,
        "compute": compute,
        "embed": embed,
        "neighbors": neighbors,
        "matches": matches,
        "campaign": campaign,
        "schedule": schedule,
    }
    given = {name: section for name, section in said.items() if section is not None}
    return run_job(Job.read({"workspace": workspace, **given}, Where("pipeline", {})), _as_task)


def _as_task(stage: Stage, workspace: str, campaign: str | None, given: Mapping[str, Value]) -> Outcome:
    """A stage of the pipeline is a task of its run."""
    about = {} if stage.campaign is None else {"campaign": campaign}
    parameters: dict[str, Any] = {**about, **given}  # declared options, by name
    done: Outcome = TASKS[stage.name](workspace=workspace, **parameters)
    return done


FLOWS: dict[str, Run] = {name: stage_flow(stage) for name, stage in stages().items()} | {"advance": advance}
verify = FLOWS["verify"]
