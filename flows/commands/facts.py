"""Commands about facts that answer questions for free."""

from typing import Annotated

import typer

from flows.commands.common import Json, Workspace, show

app = typer.Typer(rich_markup_mode="rich")
facts_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="""Bring in what time, place and tables say, so that nobody has to be asked.

    Nothing is believed until you ask for it. Answers of people stand above every fact that may be wrong.

    Example: cccount facts cameras census --file cameras.csv""",
)
app.add_typer(facts_app, name="facts")
Table = Annotated[str, typer.Option(metavar="FILE", help="A table: .csv, .parquet or .json.", show_default=False)]
Errors = Annotated[float, typer.Option("--error-rate", metavar="E", help="How often such a fact is wrong; 0: it is certain.")]


@facts_app.command("list")
def list_(workspace: Workspace, json_: Json = False) -> None:
    """Say which facts were brought in, how many pairs they are about, and how often they are wrong.

    Example: cccount facts list census
    """
    from flows.exchange.facts import listed

    show(listed(workspace), json_)


@facts_app.command()
def boxes(workspace: Workspace, json_: Json = False) -> None:
    """Two boxes of one picture show two animals, unless one covers half of the other. That is certain.

    Example: cccount facts boxes census
    """
    from flows.exchange.catalogue import import_boxes

    show(import_boxes(workspace), json_)


@facts_app.command()
def encounters(workspace: Workspace, file: Table, error_rate: Errors = 0.02, json_: Json = False) -> None:
    """Pictures of one encounter or burst show one animal, by a table with a picture (id) and an encounter in each row.

    Example: cccount facts encounters census --file bursts.csv
    """
    from flows.exchange.facts import encounters as add

    show(add(workspace, file, error_rate), json_)


@facts_app.command()
def cameras(
    workspace: Workspace,
    file: Table,
    within: Annotated[float, typer.Option(metavar="SECONDS", help="Pictures with at most this much time between them.")] = 10.0,
    error_rate: Errors = 0.02,
    json_: Json = False,
) -> None:
    """Cameras that stand opposite each other photograph both sides of one animal at once: its sides are joined.

    A row of the table names two cameras (camera, opposite), by the folder of their pictures or their place.

    Example: cccount facts cameras census --file cameras.csv --within 5
    """
    from flows.exchange.facts import cameras as add

    show(add(workspace, file, within, error_rate), json_)


@facts_app.command()
def speed(
    workspace: Workspace,
    limit: Annotated[float, typer.Option("--speed", metavar="KM/H", help="No animal is faster.", show_default=False)],
    error_rate: Errors = 0.02,
    json_: Json = False,
) -> None:
    """Pictures that are too far apart for the time between them show two animals. Needs times and coordinates.

    Only pictures that look alike are compared: the others are hardly asked about.

    Example: cccount facts speed census --speed 15
    """
    from flows.exchange.facts import speed as add

    show(add(workspace, limit, error_rate), json_)


@facts_app.command()
def deaths(workspace: Workspace, file: Table, error_rate: Errors = 0.02, json_: Json = False) -> None:
    """Pictures taken after an animal's death show another one, by a table of names of the catalogue and days (name, died).

    Example: cccount facts deaths census --file deaths.csv
    """
    from flows.exchange.facts import deaths as add

    show(add(workspace, file, error_rate), json_)
