"""Commands about individuals: who was seen, and what people correct by hand."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flows.commands.common import Json, Workspace, show

_LIST = "list"


class _ListsByDefault(TyperGroup):
    """`cccount individuals WORKSPACE` lists them; what else there is to do stands before the workspace."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = [_LIST, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(rich_markup_mode="rich")
individuals_app = typer.Typer(
    cls=_ListsByDefault,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Say who was seen: a name, a key picture, encounters, first and last seen, places, how sure; and correct it by hand.

    `cccount individuals WORKSPACE` lists them, as `cccount individuals list WORKSPACE` does. A correction is an answer
    of a person in the log of the campaign: every campaign of the workspace obeys it, and no method takes it back.

    Example: cccount individuals census --file individuals.csv""",
)
app.add_typer(individuals_app, name="individuals")
catalogue_app = typer.Typer(no_args_is_help=True, help="Individuals that are known already.", rich_markup_mode="rich")
app.add_typer(catalogue_app, name="catalogue")

Campaign = Annotated[
    str | None,
    typer.Option("--campaign", metavar="NAME", help="Whose groups.", show_default="the newest that groups everything"),
]
Annotator = Annotated[str, typer.Option("--annotator", metavar="NAME", help="Who says so.")]
Who = Annotated[str, typer.Argument(metavar="INDIVIDUAL", help="Its number, or its name.", show_default=False)]
Picture = Annotated[str, typer.Argument(metavar="PICTURE", help="The id of a picture.", show_default=False)]


@individuals_app.command(_LIST)
def list_(
    workspace: Workspace,
    campaign: Campaign = None,
    file: Annotated[
        str | None, typer.Option(metavar="FILE.csv", help="Also write a table for spreadsheets.", show_default=False)
    ] = None,
    gap: Annotated[
        float, typer.Option(metavar="MINUTES", help="Pictures of one place with less between them are one encounter.")
    ] = 30.0,
    json_: Json = False,
) -> None:
    """List the individuals, and write individuals.parquet into the results of the campaign.

    After `cccount cluster` those are all; after `cccount count` the ones that were seen.

    Example: cccount individuals list census --file individuals.csv
    """
    from flows.exchange.individuals import list_individuals

    show(list_individuals(workspace, campaign, file, gap), json_)


@individuals_app.command()
def changes(workspace: Workspace, campaign: Campaign = None, json_: Json = False) -> None:
    """Say what changed since the individuals were listed last: who is new, seen again, joined, parted.

    Look at it after `cccount extend` and the steps that follow it; `cccount individuals census` then writes the present list.

    Example: cccount individuals changes census
    """
    from flows.exchange.individuals import changed_individuals

    show(changed_individuals(workspace, campaign), json_)


@individuals_app.command()
def side(
    workspace: Workspace,
    shown: Annotated[
        str, typer.Argument(metavar="SIDE", help="left, right or other; unknown takes it away.", show_default=False)
    ],
    pictures: Annotated[list[str], typer.Argument(metavar="PICTURES...", help="Ids of pictures.", show_default=False)],
    json_: Json = False,
) -> None:
    """Say which side of the animal pictures show. Pictures of different sides are not compared from the next step on.

    Example: cccount individuals side census left a/017.jpg a/020.jpg
    """
    from flows.exchange.individuals import set_sides

    show(set_sides(workspace, shown, pictures), json_)


@individuals_app.command()
def name(
    workspace: Workspace,
    individual: Who,
    text: Annotated[str, typer.Argument(metavar="TEXT", help='The name; "" for none.', show_default=False)],
    campaign: Campaign = None,
    annotator: Annotator = "anonymous",
    json_: Json = False,
) -> None:
    """Give an individual a name. It keeps it when results change.

    Example: cccount individuals name census 3 Luna --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).name(individual, text), json_)


@individuals_app.command()
def note(
    workspace: Workspace,
    individual: Who,
    text: Annotated[str, typer.Argument(metavar="TEXT", help='What to remember; "" for nothing.', show_default=False)],
    campaign: Campaign = None,
    annotator: Annotator = "anonymous",
    json_: Json = False,
) -> None:
    """Write something about an individual.

    Example: cccount individuals note census Luna "left ear torn" --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).note(individual, text), json_)


@individuals_app.command()
def merge(
    workspace: Workspace,
    individual: Who,
    others: Annotated[list[str], typer.Argument(metavar="OTHERS...", help="Who is the same one.", show_default=False)],
    campaign: Campaign = None,
    annotator: Annotator = "anonymous",
    json_: Json = False,
) -> None:
    """Say that individuals are one: all of their pictures show the first, which keeps its number and name.

    Example: cccount individuals merge census Luna 7 --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).merge(individual, others), json_)


@individuals_app.command()
def split(
    workspace: Workspace,
    individual: Who,
    pictures: Annotated[list[str], typer.Argument(metavar="PICTURES...", help="Ids of pictures of it.", show_default=False)],
    campaign: Campaign = None,
    annotator: Annotator = "anonymous",
    json_: Json = False,
) -> None:
    """Say that some pictures of an individual show another one, which gets a number of its own.

    Example: cccount individuals split census 3 a/017.jpg a/020.jpg --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).split(individual, pictures), json_)


@individuals_app.command()
def move(
    workspace: Workspace,
    picture: Picture,
    to: Annotated[
        str, typer.Option("--to", metavar="INDIVIDUAL", help="Whom it shows: a number, or a name.", show_default=False)
    ],
    campaign: Campaign = None,
    annotator: Annotator = "anonymous",
    json_: Json = False,
) -> None:
    """Say that a picture shows another individual than it is with.

    Example: cccount individuals move census a/017.jpg --to Luna --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).move(picture, to), json_)


@individuals_app.command()
def confirm(
    workspace: Workspace, individual: Who, campaign: Campaign = None, annotator: Annotator = "anonymous", json_: Json = False
) -> None:
    """Say that all pictures of an individual show it.

    Example: cccount individuals confirm census Luna --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).confirm(individual), json_)


@individuals_app.command("no-animal")
def no_animal(
    workspace: Workspace, picture: Picture, campaign: Campaign = None, annotator: Annotator = "anonymous", json_: Json = False
) -> None:
    """Say that a picture shows no animal: it belongs to nobody, and is asked about no more.

    Example: cccount individuals no-animal census a/031.jpg --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).not_an_animal(picture), json_)


@individuals_app.command()
def decide(
    workspace: Workspace,
    picture: Picture,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The id of another one.", show_default=False)],
    said: Annotated[str, typer.Argument(metavar="same|different", help="What they are.", show_default=False)],
    campaign: Campaign = None,
    annotator: Annotator = "anonymous",
    json_: Json = False,
) -> None:
    """Decide where answers contradict each other. It stands above them; nobody is asked about the pair any more.

    Example: cccount individuals decide census a/017.jpg a/020.jpg different --annotator lea
    """
    show(_correcting(workspace, campaign, annotator).decide(picture, other, said), json_)


@individuals_app.command()
def undo(
    workspace: Workspace,
    correction: Annotated[str, typer.Argument(metavar="ID", help="What the correction said.", show_default=False)],
    campaign: Campaign = None,
    annotator: Annotator = "anonymous",
    json_: Json = False,
) -> None:
    """Take back a correction, a name or a note: only what one said oneself.

    Example: cccount individuals undo census 5f0c9a --annotator ana
    """
    show(_correcting(workspace, campaign, annotator).undo(correction), json_)


@catalogue_app.command("import")
def catalogue_import(
    workspace: Workspace,
    file: Annotated[str, typer.Option(metavar="FILE", help="A table, a folder, or a Camtrap DP package.", show_default=False)],
    json_: Json = False,
) -> None:
    """Bring in individuals that are known already: every campaign knows them from its next step on.

    A table has a picture (id or path) and a name (name or identity) in each row; a folder has a subfolder for each individual; a
    Camtrap DP package has individualID. Pairs are rows of id_u, id_v and value (same or different). A row that cannot be used is
    named with its line, the others are kept.

    Example: cccount catalogue import census --file known.csv
    """
    from flows.exchange.catalogue import import_catalogue

    show(import_catalogue(workspace, file), json_)


@catalogue_app.command("boxes")
def catalogue_boxes(workspace: Workspace, json_: Json = False) -> None:
    """Bring in that two boxes of one picture show two individuals, for every campaign from its next step on.

    Boxes of which one covers half of the other are left out: they may be drawn around one animal twice.

    Example: cccount catalogue boxes census
    """
    from flows.exchange.catalogue import import_boxes

    show(import_boxes(workspace), json_)


@app.command()
def export(
    workspace: Workspace,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="csv, camtrap-dp, darwin-core, secr, mark, wildlife-datasets, fiftyone, coco, pairs.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="PATH", help="A new file; a folder for csv, camtrap-dp, fiftyone, draws.", show_default=False
        ),
    ],
    campaign: Campaign = None,
    gap: Annotated[float, typer.Option(metavar="MINUTES", help="csv: the shortest time between two encounters.")] = 30.0,
    occasion_days: Annotated[int, typer.Option(metavar="DAYS", help="secr, mark: how long an occasion is.")] = 1,
    first_day: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="secr, mark: the first day.", show_default="of the first picture")
    ] = None,
    last_day: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="secr, mark: the last day.", show_default="of the last picture")
    ] = None,
    draws: Annotated[
        int, typer.Option(metavar="N", help="secr, mark: also N lists of who the individuals might be instead, a file for each.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="secr, mark: of the draws.")] = 0,
    side: Annotated[
        str | None,
        typer.Option(metavar="SIDE", help="secr, mark: pictures of this side alone (left, right, other).", show_default="all"),
    ] = None,
    package: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="camtrap-dp: the package that the pictures came from.", show_default="a new one"),
    ] = None,
    places: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="camtrap-dp, darwin-core, secr: place, latitude, longitude (or x, y).", show_default=False
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Write the individuals in a format of the field. A file that is there already is kept.

    Example: cccount export census --format mark --occasion-days 7 --to census.inp
    """
    from flows.exchange.export import export as write_export

    found = write_export(
        workspace, form, to, campaign=campaign, gap_minutes=gap, occasion_days=occasion_days, first_day=first_day,
        last_day=last_day, draws=draws, seed=seed, side=side, package=package, places=places,
    )  # fmt: skip
    show(found, json_)


def _correcting(workspace: str, campaign: str | None, annotator: str) -> Any:
    from flows.exchange.individuals import Correcting

    return Correcting(workspace, campaign, annotator)
