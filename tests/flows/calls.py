"""The stages as tests call them: plain arguments in, the JSON of the result out."""

from collections.abc import Sequence
from typing import Any

import distributed

from cccount_dist.campaign.advancing import start
from cccount_dist.campaign.options import CampaignOptions
from cccount_dist.kinds.cluster.options import ClusterOptions
from cccount_dist.kinds.cluster.outcome import ClusterOutcome
from cccount_dist.kinds.count.options import CountOptions
from cccount_dist.kinds.count.outcome import CountOutcome, ForecastOutcome
from cccount_dist.kinds.subcluster.options import SubclusterOptions
from cccount_dist.options import Value
from flows.compute.options import PreparingOptions
from flows.exchange import answers, gold, pack
from flows.stages import browse as browsing
from flows.stages import campaigns
from flows.stages import embed as embedding
from flows.stages import initialise as initialising
from flows.stages import matches as matching
from flows.stages import neighbors as neighbours
from flows.stages import verify as verification
from flows.stages.options import ExtendOptions, InitOptions
from flows.stages.registry import stages
from storage.campaigns import CampaignFolder
from storage.workspace import Workspace

Json = dict[str, Any]
__all__ = ["ClusterOptions", "CountOptions", "SubclusterOptions"]


def stage(name: str, workspace: str, campaign: str | None = None, **options: Value) -> Json:
    """Any stage by its name, as a program calls it."""
    return stages()[name](workspace, campaign, **options).json()


def count(workspace: str, campaign: str, options: CountOptions) -> Json:
    return _campaign(workspace, campaign, options)


def cluster(workspace: str, campaign: str, options: ClusterOptions, **preparing: Any) -> Json:
    return _campaign(workspace, campaign, options, **preparing)


def subcluster(workspace: str, campaign: str, options: SubclusterOptions, **preparing: Any) -> Json:
    return _campaign(workspace, campaign, options, **preparing)


def _campaign(workspace: str, campaign: str, options: CampaignOptions, **preparing: Any) -> Json:
    return campaigns.run_campaign(workspace, campaign, options, PreparingOptions(**preparing)).json()


def open_campaign(workspace: str, campaign: str, options: CampaignOptions) -> CampaignFolder:
    """Start a campaign, or find it, without a step."""
    return start(Workspace.open(workspace), campaign, options).folder


def counted(found: Json) -> str:
    """What a person is told of a count."""
    forecast = found["forecast"]
    return CountOutcome(**{**found, "forecast": forecast and ForecastOutcome(**forecast)}).words()


def grouped(found: Json) -> str:
    """What a person is told of a grouping."""
    return ClusterOutcome(**found).words()


def advance(workspace: str, campaign: str) -> Json:
    """One step, without the report."""
    found = campaigns.advance_campaign(workspace, campaign).json()
    del found["report"]
    return found


def status(workspace: str, campaign: str | None = None) -> Json:
    return campaigns.status(workspace, campaign).json()


def write_reports(workspace: str, campaign: str | None, price: float | None = None) -> Json:
    return campaigns.write_reports(workspace, campaign, price).json()


def initialise(workspace: str, *, embeddings: str | Sequence[str] | None = None, **options: Any) -> Json:
    given = (embeddings,) if isinstance(embeddings, str) else tuple(embeddings or ())
    return initialising.initialise(workspace, InitOptions(embeddings=given, **options)).json()


def extend(workspace: str, **options: Any) -> Json:
    return initialising.extend(workspace, ExtendOptions(**options)).json()


def first_frames(workspace: str, into: str, **options: Any) -> Json:
    return initialising.first_frames(workspace, into, **options).json()


def embed(workspace: str, *, client: distributed.Client, **options: Any) -> Json:
    return embedding.embed(workspace, client=client, **options).json()


def neighbors(workspace: str, *, client: distributed.Client, **options: Any) -> Json:
    return neighbours.neighbors(workspace, client=client, **options).json()


def matches(workspace: str, *, client: distributed.Client, **options: Any) -> Json:
    return matching.matches(workspace, client=client, **options).json()


def verify(workspace: str) -> Json:
    return verification.verify(workspace).json()


def browse(workspace: str, campaign: str, **options: Any) -> Json:
    return browsing.browse(workspace, campaign, **options).json()


def export_answers(workspace: str, campaign: str, file: str, *form: str, overwrite: bool = False) -> Json:
    return answers.export_answers(workspace, campaign, file, *form, overwrite=overwrite).json()


def import_answers(workspace: str, campaign: str | None, file: str) -> Json:
    return answers.import_answers(workspace, campaign, file).json()


def import_gold(workspace: str, file: str) -> Json:
    return gold.import_gold(workspace, file).json()


def write_pack(workspace: str, campaign: str, count: int, file: str, **options: Any) -> Json:
    return pack.write_pack(workspace, campaign, count, file, **options).json()
