"""The `cccount` command. Results go to standard output, progress and messages to standard error.

Exit codes: 0 success, 1 a failure that is explained in one line, 2 wrong usage, 130 after Ctrl-C. Everything heavy is imported
inside the commands, so that `cccount --help` answers at once.
"""

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from flows.commands import interrupt
from flows.commands.usage import NAME, explained
from storage.errors import CccountError
from storage.version import __version__

app = typer.Typer(
    name="cccount",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Count and group a huge image collection from a few human answers.

    The short way: [bold]run[/bold] FILE.toml does all of it (`cccount run --example` prints a file).

    The way, step by step: [bold]init[/bold] (what is in the collection), [bold]embed[/bold] (a vector for each image),
    [bold]neighbors[/bold] (who is similar), then what you want to know: [bold]count[/bold] (how many different ones, ± how much),
    [bold]cluster[/bold] (which belong together), [bold]subcluster[/bold] (a few clean images of each). People answer on the page
    of [bold]review[/bold].

    Every command can be interrupted and run again: what is done stays done.

    Try it: cccount demo""",
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cccount {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Say the version.", callback=_say_version, is_eager=True)] = False,
) -> None:
    pass


def make_app() -> typer.Typer:
    """Return the command with all rooms: made when it is run, for plug-ins add to it, and may be broken."""
    from flows.commands import campaigns, care, collection, facts, individuals, people, pipeline, results

    for room in (pipeline, collection, campaigns, people, results, individuals, facts, care):  # the order of --help
        app.add_typer(room.app)
    return app


def main() -> None:
    """Entry point of the command."""
    safely()
    interrupt.run(_run)


def _run() -> None:
    try:
        code = make_app()(prog_name=NAME, standalone_mode=False)
    except CccountError as error:
        _fail(str(error))
    except TyperException as error:
        _fail(explained(error), error.exit_code)
    except typer.Abort:
        _fail("Nothing was answered: nothing was changed.")
    except BrokenPipeError:
        # The reader of our output went away (`cccount status | head`): nothing to explain, and nobody to explain it to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    else:
        sys.exit(code)


def safely() -> None:
    """Let no process that is started from here (workers of Dask, the supplier, makers of pictures) look for modules in the
    folder in which somebody happens to stand: there may lie a `json.py` that they downloaded."""
    os.environ["PYTHONSAFEPATH"] = "1"


def _fail(line: str, code: int = 1) -> None:
    if line:
        typer.echo(f"{NAME}: {' '.join(line.split())}", err=True)
    sys.exit(code)
