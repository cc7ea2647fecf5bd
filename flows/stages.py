"""The stages as plain functions of plain arguments: what both the command line and the Prefect flows run.

Each imports what it needs when it runs: a count should not wait for Dask to load.
"""

from typing import Any

Report = dict[str, Any]


def embed(
    workspace: str,
    *,
    encoder: str | None = None,
    components: int | None = None,
    strict: bool = False,
    compute: str = "local",
    workers: int | None = None,
    memory_limit: str | None = None,
) -> Report:
    """Give every image of the collection a vector."""
    from cccount_dist.embedding.encoders import DEFAULT_ENCODER
    from flows.compute import open_client
    from flows.embed import embed

    with open_client(compute, workers=workers, memory_limit=memory_limit) as client:
        return embed(workspace, encoder=encoder or DEFAULT_ENCODER, components=components, strict=strict, client=client)


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
    from cccount_dist.similarity.metrics import check_metric
    from flows.compute import open_client
    from flows.neighbors import neighbors

    checked = check_metric(metric)
    with open_client(compute, workers=workers, memory_limit=memory_limit) as client:
        return neighbors(workspace, k=k, metric=checked, engine=engine, store_similarity=store_similarity, client=client)


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
    grid: int | None = None,
    wrong_answers: str | None = None,
    search: str | None = None,
    pair_seconds: float = 9.0,
    page_seconds: float = 30.0,
    overlap: int | None = None,
    parameter: list[str] | None = None,
) -> Report:
    """Start a count campaign or go on with it, until it is done or waits for people."""
    from flows.counting import CountOptions, count

    options = CountOptions(
        method,
        seed,
        level,
        budget,
        target_width,
        oracle,
        error_rate,
        grid,
        wrong_answers,
        search,
        pair_seconds,
        page_seconds,
        overlap,
        tuple(parameter or ()),
    )
    return count(workspace, campaign, options)


def cluster(
    workspace: str,
    campaign: str = "cluster",
    method: str | None = None,
    clusters: int | None = None,
    seed: int | None = None,
    budget: int = 600,
    oracle: str = "people",
    error_rate: float = 0.0,
    overlap: int | None = None,
    parameter: list[str] | None = None,
    compute: str | None = None,
    workers: int | None = None,
    memory_limit: str | None = None,
    prior: float | None = None,
    repeats: int | None = None,
) -> Report:
    """Start a grouping campaign or go on with it, until its budget is used or it waits for people."""
    from flows.grouping import ClusterOptions, cluster

    options = ClusterOptions(
        method,
        clusters,
        seed,
        budget,
        oracle,
        error_rate,
        overlap,
        prior=prior,
        repeats=repeats,
        parameter=tuple(parameter or ()),
    )
    return cluster(workspace, campaign, options, compute=compute, workers=workers, memory_limit=memory_limit)


def subcluster(
    workspace: str,
    campaign: str = "subcluster",
    clusters: int | None = None,
    size: int | None = None,
    start: str | None = None,
    seed: int | None = None,
    budget: int = 1000,
    oracle: str = "people",
    error_rate: float = 0.0,
    overlap: int | None = None,
    compute: str = "local",
    workers: int | None = None,
    memory_limit: str | None = None,
) -> Report:
    """Start a subclustering campaign or go on with it, until its budget is used or it waits for people."""
    from flows.subcluster import SubclusterOptions, subcluster

    options = SubclusterOptions(clusters, size, start, seed, budget, oracle, error_rate, overlap)
    return subcluster(workspace, campaign, options, compute=compute, workers=workers, memory_limit=memory_limit)


def advance(workspace: str, campaign: str) -> Report:
    """Advance a campaign by one idempotent step, and write its report again if the answers have changed."""
    from flows.campaign import advance
    from flows.report import refresh_report

    reached = advance(workspace, campaign)
    return {**reached, "report": refresh_report(workspace, campaign)}


def report(workspace: str, campaign: str | None = None) -> Report:
    """Write the report of one campaign, or of all counts."""
    from flows.report import write_reports

    return write_reports(workspace, campaign)


def verify(workspace: str) -> Report:
    """Check everything that the workspace holds."""
    from flows.verify import verify

    return verify(workspace)
