"""Commands for the people who answer: the page, the pack, files of answers, tokens, gold pairs."""

from typing import Annotated, Any

import typer

from cccount_dist.options import declared
from flows.commands.common import CampaignName, Json, Workspace, show
from flows.commands.declared import add_command, required, told
from flows.serving.options import ReviewOptions

app = typer.Typer(rich_markup_mode="rich")
answers_app = typer.Typer(
    no_args_is_help=True, help="Take questions out to a file, and answers in from one.", rich_markup_mode="rich"
)
app.add_typer(answers_app, name="answers")
annotators_app = typer.Typer(no_args_is_help=True, help="Say who may answer: a token for each person.", rich_markup_mode="rich")
app.add_typer(annotators_app, name="annotators")
gold_app = typer.Typer(no_args_is_help=True, help="Pairs whose answer is known, for checking people.", rich_markup_mode="rich")
app.add_typer(gold_app, name="gold")


def _review(workspace: str, json_: bool = False, **given: Any) -> None:
    from flows.serving.review import review as serve

    serve(workspace, ReviewOptions.read(told(given)), as_json=json_)


_REVIEW = """Serve the page on which people answer, until Ctrl-C.

Example: cccount review census
"""
add_command(app, _review, "review", _REVIEW, [required("workspace", Workspace)], declared(ReviewOptions))


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
    from flows.exchange.pack import write_pack

    show(write_pack(workspace, campaign, count, file, annotator=annotator, side=side), json_)


@answers_app.command("export")
def answers_export(
    workspace: Workspace,
    campaign: CampaignName = "count",
    file: Annotated[str, typer.Option(help="Where to write: .csv, .parquet or .json.")] = "answers.csv",
    form: Annotated[
        str, typer.Option("--format", metavar="label-studio", help="Open questions as tasks of Label Studio (.json).")
    ] = "by ending",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there already.")] = False,
    json_: Json = False,
) -> None:
    """Write every answer, and every open question with an empty value.

    A file that is there is kept: people may have filled it in. Import it first, then name another one, or give --overwrite.

    Example: cccount answers export census --campaign count --file questions.csv
    """
    from flows.exchange.answers import export_answers

    show(export_answers(workspace, campaign, file, form, overwrite=overwrite), json_)


@answers_app.command("import")
def answers_import(
    workspace: Workspace,
    campaign: Annotated[
        str | None, typer.Option("--campaign", metavar="NAME", help="The campaign, for a file that does not say it.")
    ] = None,
    file: Annotated[str, typer.Option(help="What to read: .csv, .parquet or .json.")] = "answers.csv",
    json_: Json = False,
) -> None:
    """Read answers, those of packs and of Label Studio, too. Importing a file twice changes nothing.

    A row that is no answer, or is about another pair, campaign or workspace, is named with its line; the others are kept.

    Example: cccount answers import census --file questions.csv
    """
    from flows.exchange.answers import import_answers

    show(import_answers(workspace, campaign, file), json_)


@gold_app.command("import")
def gold_import(
    workspace: Workspace,
    file: Annotated[str, typer.Option(help="Rows of id_u, id_v (or u, v) and value: .csv, .parquet or .json.")] = "gold.csv",
    json_: Json = False,
) -> None:
    """Read pairs whose answer is known. The review page shows some of them, and so learns how often people are wrong.

    Example: cccount gold import census --file gold.csv
    """
    from flows.exchange.gold import import_gold

    show(import_gold(workspace, file), json_)


@annotators_app.command("add")
def annotators_add(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who answers.", show_default=False)],
    token_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="A token that was made elsewhere; again with the same one changes nothing.")
    ] = None,
    role: Annotated[str, typer.Option(metavar="annotator|lead", help="A lead decides contradictions, too.")] = "annotator",
    json_: Json = False,
) -> None:
    """Give somebody a token for the review page. It is shown once; only a hash of it is kept.

    Example: cccount annotators add census ana
    """
    from flows.serving.annotators import add_annotator

    show(add_annotator(workspace, name, token_file, role), json_)


@annotators_app.command("role")
def annotators_role(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose.", show_default=False)],
    role: Annotated[str, typer.Argument(metavar="annotator|lead", help="A lead decides contradictions.", show_default=False)],
    json_: Json = False,
) -> None:
    """Say what somebody is: an annotator, or a lead, who decides contradictions on the progress page. The token stays.

    Example: cccount annotators role census ana lead
    """
    from flows.serving.annotators import give_role

    show(give_role(workspace, name, role), json_)


@annotators_app.command("list")
def annotators_list(workspace: Workspace, json_: Json = False) -> None:
    """Say who has a token.

    Example: cccount annotators list census
    """
    from flows.serving.annotators import list_annotators

    show(list_annotators(workspace), json_)


@annotators_app.command("remove")
def annotators_remove(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose token ends.", show_default=False)],
    json_: Json = False,
) -> None:
    """Take somebody's token away. What they answered stays.

    Example: cccount annotators remove census ana
    """
    from flows.serving.annotators import remove_annotator

    show(remove_annotator(workspace, name), json_)
