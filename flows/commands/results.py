"""Commands that show what was found."""

from typing import Annotated

import typer

from flows.commands.common import CampaignName, Json, Workspace, show

app = typer.Typer(rich_markup_mode="rich")


@app.command()
def report(
    workspace: Workspace,
    campaign: Annotated[str | None, typer.Option(help="Only this campaign.", show_default=False)] = None,
    price: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="What a question costs, in your currency: reports then say what was spent.",
            show_default=False,
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Write one self-contained report.html: it opens anywhere, also offline.

    Example: cccount report census
    """
    from flows.stages.campaigns import write_reports

    show(write_reports(workspace, campaign, price), json_)


@app.command()
def browse(
    workspace: Workspace,
    campaign: CampaignName = "subcluster",
    item: Annotated[str | None, typer.Option(metavar="ID", help="Say which subclusters this item is most like.")] = None,
    image: Annotated[str | None, typer.Option(metavar="FILE", help="The same for any image file.")] = None,
    json_: Json = False,
) -> None:
    """Write browse.html: all subclusters of a campaign on one self-contained page, with search.

    Example: cccount browse census --image who-is-this.jpg
    """
    from flows.stages.browse import browse as write_sheet

    show(write_sheet(workspace, campaign, item=item, image=image), json_)


@app.command()
def baselines(
    workspace: Workspace,
    seed: Annotated[int, typer.Option(help="The seed of the first centres of k-means.")] = 0,
    clusters: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="The number of clusters, for baselines that must know it.", show_default="the labels' number"
        ),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(metavar="Q", help="Also group, with this many questions to the labels.", show_default=False)
    ] = None,
    size: Annotated[int | None, typer.Option(metavar="N", help="Also find N images of each class.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Count without asking anybody: k-means at its elbow, mean-shift, connected components. To compare with; often far off.

    Where the collection has labels it says how accurate k-means is with each number. With --budget unique entity
    estimation counts from questions, and the papers' active baselines group the items; with --size the papers' baselines of
    subclustering find a few images of each class.

    Example: cccount baselines census --budget 600 --size 10

    Example: cccount baselines census
    """
    from flows.stages.baselines import baselines as count_without_people

    show(count_without_people(workspace, seed, clusters, budget, size), json_)
