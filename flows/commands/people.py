"""Commands for the people who answer: the page, the pack, files of answers, tokens, gold pairs."""

from typing import Annotated

import typer

from flows import texts
from flows.commands.common import CampaignName, Json, Workspace, show, show_imported

app = typer.Typer(rich_markup_mode="rich")
answers_app = typer.Typer(
    no_args_is_help=True, help="Take questions out to a file, and answers in from one.", rich_markup_mode="rich"
)
app.add_typer(answers_app, name="answers")
annotators_app = typer.Typer(no_args_is_help=True, help="Say who may answer: a token for each person.", rich_markup_mode="rich")
app.add_typer(annotators_app, name="annotators")
gold_app = typer.Typer(no_args_is_help=True, help="Pairs whose answer is known, for checking people.", rich_markup_mode="rich")
app.add_typer(gold_app, name="gold")


@app.command()
def review(
    workspace: Workspace,
    host: Annotated[str, typer.Option(help="Where to listen; others can reach it only if annotators have tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes a free one.")] = 8765,
    annotator: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who sits here, while there are no tokens.", show_default="your user name")
    ] = None,
    advance: Annotated[bool, typer.Option(help="Keep new questions ready, in a process of its own.")] = True,
    overlap: Annotated[int, typer.Option(metavar="1..5", help="How many people see each question.")] = 1,
    gold: Annotated[float, typer.Option(metavar="SHARE", help="Sheets with a known answer.")] = 0.03,
    repeats: Annotated[float, typer.Option(metavar="SHARE", help="Sheets that the same person answered before.")] = 0.02,
    certificate: Annotated[str | None, typer.Option(metavar="FILE", help="TLS certificate.", show_default=False)] = None,
    key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key.", show_default=False)] = None,
    json_: Json = False,
) -> None:
    """Serve the page on which people answer, until Ctrl-C.

    Example: cccount review census
    """
    from flows.review import ReviewOptions
    from flows.review import review as serve

    options = ReviewOptions(host, port, annotator, advance, overlap, gold, repeats, certificate, key)
    serve(workspace, options, as_json=json_)


@app.command()
def pack(
    workspace: Workspace,
    campaign: CampaignName = "count",
    count: Annotated[int, typer.Option(help="How many open questions to take along.")] = 200,
    file: Annotated[str, typer.Option(help="Where to write: one .html file.")] = "pack.html",
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who will answer it.")] = "pack",
    side: Annotated[int, typer.Option(metavar="PIXELS", help="Longer side of its pictures.")] = 640,
    json_: Json = False,
) -> None:
    """Write one HTML file with open questions and their pictures, to be answered without a network.

    Its answers come back as a file: cccount answers import WORKSPACE --file answers.json

    Example: cccount pack census --campaign count --count 200 --file pack.html --annotator ana
    """
    from flows.pack import write_pack

    show(write_pack(workspace, campaign, count, file, annotator=annotator, side=side), json_, texts.packed)


@answers_app.command("export")
def answers_export(
    workspace: Workspace,
    campaign: CampaignName = "count",
    file: Annotated[str, typer.Option(help="Where to write: .csv, .parquet or .json.")] = "answers.csv",
    form: Annotated[
        str, typer.Option("--format", metavar="label-studio", help="Open questions as tasks of Label Studio (.json).")
    ] = "by ending",
    json_: Json = False,
) -> None:
    """Write every answer, and every open question with an empty value.

    Example: cccount answers export census --campaign count --file questions.csv
    """
    from flows.answers import export_answers

    show(export_answers(workspace, campaign, file, form), json_, texts.exported)


@answers_app.command("import")
def answers_import(
    workspace: Workspace,
    campaign: CampaignName = "count",
    file: Annotated[str, typer.Option(help="What to read: .csv, .parquet or .json.")] = "answers.csv",
    json_: Json = False,
) -> None:
    """Read answers, Label Studio's too. Importing a file twice changes nothing; a bad row is named, the others are kept.

    Example: cccount answers import census --campaign count --file questions.csv
    """
    from flows.answers import import_answers

    show_imported(import_answers(workspace, campaign, file), json_, texts.imported)


@gold_app.command("import")
def gold_import(
    workspace: Workspace,
    file: Annotated[str, typer.Option(help="Rows of id_u, id_v (or u, v) and value: .csv, .parquet or .json.")] = "gold.csv",
    json_: Json = False,
) -> None:
    """Read pairs whose answer is known. The review page shows some of them, and so learns how often people are wrong.

    Example: cccount gold import census --file gold.csv
    """
    from flows.gold import import_gold

    show_imported(import_gold(workspace, file), json_, texts.gold_imported)


@annotators_app.command("add")
def annotators_add(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who answers.", show_default=False)],
    json_: Json = False,
) -> None:
    """Give somebody a token for the review page. It is shown once; only a hash of it is kept.

    Example: cccount annotators add census ana
    """
    from flows.annotators import add_annotator

    show(add_annotator(workspace, name), json_, texts.annotator_added)


@annotators_app.command("list")
def annotators_list(workspace: Workspace, json_: Json = False) -> None:
    """Say who has a token.

    Example: cccount annotators list census
    """
    from flows.annotators import list_annotators

    show(list_annotators(workspace), json_, lambda r: "\n".join(r["annotators"]) or "Nobody has a token yet.")


@annotators_app.command("remove")
def annotators_remove(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token ends.", show_default=False)],
    json_: Json = False,
) -> None:
    """Take somebody's token away. What they answered stays.

    Example: cccount annotators remove census ana
    """
    from flows.annotators import remove_annotator

    show(remove_annotator(workspace, name), json_, lambda r: f"{r['removed']} has no token any more.")
