"""Commands that ask: how many there are, which belong together, a few clean ones of each; and where it stands."""

from typing import Annotated

import typer

from flows import texts
from flows.commands.common import (
    CampaignName,
    Compute,
    GroupingCompute,
    Json,
    Memory,
    Overlap,
    Workers,
    Workspace,
    run,
    show,
)

app = typer.Typer(rich_markup_mode="rich")


@app.command()
def count(
    workspace: Workspace,
    campaign: CampaignName = "count",
    method: Annotated[
        str | None, typer.Option(metavar="auto|placing|nis|…", help="The estimator; auto chooses.", show_default="auto")
    ] = None,
    budget: Annotated[
        int, typer.Option(help="How many questions may be asked, in all. A larger one goes on from where it stands.")
    ] = 2000,
    target_width: Annotated[
        float | None,
        typer.Option(metavar="W", help="Stop when the interval's width is at most W times the estimate.", show_default=False),
    ] = None,
    level: Annotated[float | None, typer.Option(help="Level of the interval.", show_default="0.95")] = None,
    oracle: Annotated[
        str, typer.Option(metavar="people|labels", help="Who answers: people, or the label column (simulation).")
    ] = "people",
    error_rate: Annotated[float, typer.Option(metavar="E", help="With --oracle labels: lie with this probability.")] = 0.0,
    grid: Annotated[
        int | None, typer.Option(metavar="1..24", help="Show up to so many clusters on one page.", show_default="1")
    ] = None,
    wrong_answers: Annotated[
        str | None,
        typer.Option(
            metavar="none|estimate|M,F",
            help="Allow for wrong answers: rates of misses and of false sames, or estimated on the way.",
            show_default="estimate for people",
        ),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="full|fast", help="fast skips pairs that are hardly the same, where it is safe.", show_default="fast"
        ),
    ] = None,
    pair_seconds: Annotated[float, typer.Option(metavar="S", help="What a pair takes a person.")] = 9.0,
    page_seconds: Annotated[
        float, typer.Option(metavar="S", help="What a page takes; in the budget it counts as that many pairs.")
    ] = 30.0,
    overlap: Overlap = None,
    seed: Annotated[int | None, typer.Option(help="The same seed and answers give the same questions.", show_default="0")] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="For the compared methods (docs/counting.md); several times.", show_default=False
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Estimate how many different ones there are, with an interval.

    With --oracle people the questions are written and the command returns: answers come through a file (`cccount answers`), and
    `cccount advance` goes on.

    Example: cccount count census --budget 2000 --oracle labels

    Example: cccount count census --campaign paper --method nis --parameter similarity=soft --oracle labels
    """
    report = run(
        "count",
        workspace=workspace,
        campaign=campaign,
        method=method,
        seed=seed,
        level=level,
        budget=budget,
        target_width=target_width,
        oracle=oracle,
        error_rate=error_rate,
        grid=grid,
        wrong_answers=wrong_answers,
        search=search,
        pair_seconds=pair_seconds,
        page_seconds=page_seconds,
        overlap=overlap,
        parameter=parameter,
    )
    show(report, json_, texts.counted)


@app.command()
def cluster(
    workspace: Workspace,
    campaign: CampaignName = "cluster",
    method: Annotated[
        str | None,
        typer.Option(metavar="auto|evidence|apc|hacc|iu-red|…", help="How to group; auto needs no K.", show_default="auto"),
    ] = None,
    clusters: Annotated[
        int | None,
        typer.Option(metavar="K", help="How many groups. hacc takes a count's estimate if it is not told.", show_default=False),
    ] = None,
    budget: Annotated[int, typer.Option(help="How many questions may be asked, in all. A larger one goes on.")] = 600,
    oracle: Annotated[
        str,
        typer.Option(
            metavar="people|labels|similarity", help="Who answers: people, the label column, or (ratings) the embeddings."
        ),
    ] = "people",
    error_rate: Annotated[
        float, typer.Option(metavar="E", help="With labels: lie with this probability; with similarity: deviation of the noise.")
    ] = 0.0,
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="W", help="Ratings: weight of the embeddings' similarity until a pair is rated.", show_default="none"
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(metavar="R", help="Ratings: how often one pair may be rated.", show_default="3")
    ] = None,
    overlap: Overlap = None,
    seed: Annotated[int | None, typer.Option(help="The same seed and answers give the same questions.", show_default="0")] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="For the method (docs/grouping.md); several times.", show_default=False),
    ] = None,
    compute: GroupingCompute = None,
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Give every item its group, from as few questions as possible; labels.parquet is the result.

    Most methods ask whether two items are the same. iu-red asks how similar they are, on a scale, and needs neither embeddings
    nor neighbours; also iu-red-pure, s-and-t, s-and-t-pure, random-ratings.

    Example: cccount cluster census --budget 600 --oracle labels

    Example: cccount cluster photos --method iu-red --clusters 2 --budget 900
    """
    report = run(
        "cluster",
        workspace=workspace,
        campaign=campaign,
        method=method,
        clusters=clusters,
        seed=seed,
        budget=budget,
        oracle=oracle,
        error_rate=error_rate,
        overlap=overlap,
        parameter=parameter,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
        prior=prior,
        repeats=repeats,
    )
    show(report, json_, texts.grouped)


@app.command()
def subcluster(
    workspace: Workspace,
    clusters: Annotated[
        int | None,
        typer.Option(metavar="K", help="How many classes there are.", show_default="the estimate of the newest count campaign"),
    ] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="Images of each class.", show_default="10")] = None,
    campaign: CampaignName = "subcluster",
    budget: Annotated[int, typer.Option(help="How many questions may be asked, in all. A larger one goes on.")] = 1000,
    oracle: Annotated[str, typer.Option(metavar="people|labels", help="Who answers: people, or the label column.")] = "people",
    error_rate: Annotated[float, typer.Option(metavar="E", help="With --oracle labels: lie with this probability.")] = 0.0,
    start: Annotated[
        str | None, typer.Option(metavar="random|pam", help="First centroids: random, or medoids.", show_default="random")
    ] = None,
    overlap: Overlap = None,
    seed: Annotated[int | None, typer.Option(help="The same seed and answers give the same questions.", show_default="0")] = None,
    compute: Compute = "local",
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Find a few clean images of each class, to browse the collection; subclusters.parquet is the result.

    Without --budget to spend (--budget 0) it is what the vectors alone give. `cccount browse` then shows all of them on one page.

    Example: cccount subcluster census --clusters 24 --size 10 --oracle labels
    """
    report = run(
        "subcluster",
        workspace=workspace,
        campaign=campaign,
        clusters=clusters,
        size=size,
        start=start,
        seed=seed,
        budget=budget,
        oracle=oracle,
        error_rate=error_rate,
        overlap=overlap,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
    )
    show(report, json_, texts.subclustered)


@app.command()
def advance(workspace: Workspace, campaign: CampaignName = "count", json_: Json = False) -> None:
    """Advance a campaign by one step: what a scheduled run does.

    Reads new answers, asks new questions, refreshes the result. Run twice or killed anywhere, the campaign is the same.

    Example: cccount advance census --campaign count
    """
    show(run("advance", workspace=workspace, campaign=campaign), json_, texts.advanced)


@app.command()
def status(
    workspace: Workspace,
    campaign: Annotated[str | None, typer.Option(help="Only this campaign.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Say where every campaign stands, and what it waits for.

    Example: cccount status census
    """
    from flows.campaign import status as status_of

    show(status_of(workspace, campaign), json_, texts.standing)
