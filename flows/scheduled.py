"""The Prefect flows: what deployments schedule, and what the command line runs when a Prefect server is configured.

A Prefect task is a stage. Shards and tiles are Dask tasks inside it. Prefect's state is never the truth about a campaign or an
array: a crashed run is simply run again, and goes on from the workspace.
"""

from functools import wraps
from typing import Any, ParamSpec

from prefect import Flow, Task, flow, get_run_logger, task
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Completed

from flows import stages
from flows.artifacts import show_campaign
from flows.counting import CountOptions
from flows.logs import logged
from storage.campaigns import CampaignFolder
from storage.errors import ComputeError, LeaseError
from storage.workspace import Workspace

Report = dict[str, Any]
P = ParamSpec("P")


async def _worth_retrying(_task: Any, _run: TaskRun, state: State[Any]) -> bool:
    """A lost cluster comes back; wrong input does not."""
    error = await state.aresult(raise_on_failure=False)
    return isinstance(error, ComputeError)


retried = task(retries=2, retry_delay_seconds=10, retry_condition_fn=_worth_retrying)
embed_stage = retried(stages.embed)
neighbors_stage = retried(stages.neighbors)
count_stage = retried(stages.count)
cluster_stage = retried(stages.cluster)
subcluster_stage = retried(stages.subcluster)
advance_stage = retried(stages.advance)
report_stage = task(stages.report)
verify_stage = task(stages.verify)


def _flow_of(stage: Task[P, Report]) -> Flow[P, Report]:
    """A flow with the parameters of the stage, which is its only task."""

    @wraps(stage.fn)
    def run(*arguments: P.args, **options: P.kwargs) -> Report:
        return stage(*arguments, **options)

    return flow(name=f"cccount-{stage.name}")(run)


embed = _flow_of(embed_stage)
neighbors = _flow_of(neighbors_stage)
count = _flow_of(count_stage)
cluster = _flow_of(cluster_stage)
subcluster = _flow_of(subcluster_stage)
verify = _flow_of(verify_stage)


def _refreshes(workspace: str, campaign: str) -> int:
    """How often the result of a count was refreshed: a report is written when it has changed. Groupings have none."""
    return int(CampaignFolder(Workspace.open(workspace), campaign).estimates().num_rows)


@flow(name="cccount-advance")
def advance(workspace: str, campaign: str) -> Any:
    """Advance a campaign by one idempotent step. Another process at work on it is no failure: that run is skipped."""
    before = _refreshes(workspace, campaign)
    try:
        with logged("advance", workspace=workspace, campaign=campaign) as outcome:
            report = advance_stage(workspace, campaign)
            outcome.update(questions=report["questions"], state=report["state"], pending=report["pending"])
    except LeaseError as error:
        get_run_logger().info("skipped: %s", error)
        return Completed(name="Skipped", message=str(error))
    if report["state"] != "running" and _refreshes(workspace, campaign) > before:
        report_stage(workspace, campaign)
    show_campaign(workspace, report)
    return report


@flow(name="cccount-pipeline")
def pipeline(
    workspace: str,
    encoder: str | None = None,
    k: int = 50,
    metric: str = "cosine",
    campaign: str = "count",
    budget: int = 2000,
    oracle: str = "people",
    compute: str = "local",
    workers: int | None = None,
    memory_limit: str | None = None,
) -> Report:
    """The whole way from images to a count. Run it again at any time: only what is missing is computed."""
    CountOptions(budget=budget, oracle=oracle)  # wrong options are refused before hours of embedding, not after
    cluster: dict[str, Any] = {"compute": compute, "workers": workers, "memory_limit": memory_limit}
    return {
        "embed": embed_stage(workspace, encoder=encoder, **cluster),
        "neighbors": neighbors_stage(workspace, k=k, metric=metric, **cluster),
        "count": count_stage(workspace, campaign, budget=budget, oracle=oracle),
    }
