"""The stages as plain functions of plain arguments: what both the command line and the Prefect flows run."""

from typing import Any

from flows.campaign import CountOptions
from flows.campaign import advance as advance_campaign
from flows.campaign import count as count_campaign
from flows.compute import open_client
from flows.embed import embed as embed_on
from flows.neighbors import neighbors as neighbors_on
from flows.verify import verify

Report = dict[str, Any]


def embed(
    workspace: str,
    *,
    encoder: str = "auto",
    components: int | None = None,
    strict: bool = False,
    compute: str = "local",
    workers: int | None = None,
    memory_limit: str | None = None,
) -> Report:
    """Give every image of the collection a vector."""
    with open_client(compute, workers=workers, memory_limit=memory_limit) as client:
        return embed_on(workspace, encoder=encoder, components=components, strict=strict, client=client)


def neighbors(
    workspace: str,
    *,
    k: int = 50,
    metric: str = "cosine",
    engine: str = "exact",
    store_similarity: bool = False,
    compute: str = "local",
    workers: int | None = None,
    memory_limit: str | None = None,
) -> Report:
    """Find the k nearest neighbours and the degree of every item."""
    with open_client(compute, workers=workers, memory_limit=memory_limit) as client:
        return neighbors_on(workspace, k=k, metric=metric, engine=engine, store_similarity=store_similarity, client=client)


def count(
    workspace: str,
    campaign: str = "count",
    method: str | None = None,
    seed: int | None = None,
    level: float | None = None,
    budget: int = 2000,
    target_width: float | None = None,
    oracle: str = "people",
    error_rate: float = 0.0,
) -> Report:
    """Start a count campaign or go on with it, until it is done or waits for people."""
    options = CountOptions(method, seed, level, budget, target_width, oracle, error_rate)
    return count_campaign(workspace, campaign, options)


def advance(workspace: str, campaign: str) -> Report:
    """Advance a campaign by one idempotent step."""
    return advance_campaign(workspace, campaign)


__all__ = ["Report", "advance", "count", "embed", "neighbors", "verify"]
