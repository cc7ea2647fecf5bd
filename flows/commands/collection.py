"""Commands that make a workspace and prepare it: init, extend, bursts, embed, neighbors, matches."""

from typing import Annotated, Any

import typer

from cccount_dist.options import Value, declared
from flows.commands.common import Json, Workspace, Yes, agreed, show
from flows.commands.declared import add_command, keyword, required, stage_command, told
from flows.stages.options import EmbedOptions, ExtendOptions, InitOptions, MatchesOptions, NeighborsOptions
from flows.stages.registry import EMBED, INIT, MATCHES, NEIGHBORS

app = typer.Typer(rich_markup_mode="rich")


def _init(workspace: str, json_: bool = False, **given: Any) -> None:
    from flows.stages.initialise import initialise

    show(initialise(workspace, InitOptions.read(told(given))), json_)


def _extend(workspace: str, json_: bool = False, yes: bool = False, **given: Any) -> None:
    from flows.stages.consequences import of_extending
    from flows.stages.initialise import extend

    options = ExtendOptions.read(told(given))
    agreed(of_extending(workspace), "there will be more items", yes)
    show(extend(workspace, options), json_)


def _before_embed(workspace: str, given: dict[str, Value], yes: bool) -> None:
    from flows.stages.consequences import of_embedding

    agreed(of_embedding(workspace, EmbedOptions.read(given)), "there will be other vectors", yes)


def _before_neighbors(workspace: str, given: dict[str, Value], yes: bool) -> None:
    from flows.stages.consequences import of_neighbors

    agreed(of_neighbors(workspace, NeighborsOptions.read(given)), "there will be other neighbours", yes)


def _before_matches(workspace: str, given: dict[str, Value], yes: bool) -> None:
    from flows.stages.consequences import of_matches

    agreed(of_matches(workspace, MatchesOptions.read(given)), "there will be local matches to look at", yes)


_EXTEND = """Add images or vectors to a workspace. Campaigns go on over them: new items are drawn into their random order.

Items keep their numbers, and `cccount embed` then embeds only the new ones.

Example: cccount extend census --images photos-of-may/

Example: cccount extend census --images card2/ --prefix card2/
"""
add_command(app, _init, INIT.name, INIT.help, [required("workspace", Workspace)], declared(InitOptions))
add_command(app, _extend, "extend", _EXTEND, [required("workspace", Workspace), keyword("yes", Yes, default=False)],
            declared(ExtendOptions))  # fmt: skip


@app.command()
def bursts(
    workspace: Workspace,
    into: Annotated[str, typer.Argument(metavar="NEW", help="The workspace to make.", show_default=False)],
    seconds: Annotated[float, typer.Option(help="Frames of a burst are at most this many seconds apart.")] = 3.0,
    similarity: Annotated[float, typer.Option(help="Frames of a burst are at least this similar (cosine).")] = 0.8,
    json_: Json = False,
) -> None:
    """Make a second workspace with the first frame of every burst, so that a burst counts once.

    Example: cccount bursts census census-bursts --seconds 5
    """
    from flows.stages.initialise import first_frames

    show(first_frames(workspace, into, seconds=seconds, similarity=similarity), json_)


stage_command(app, EMBED, _before_embed)
stage_command(app, NEIGHBORS, _before_neighbors)
stage_command(app, MATCHES, _before_matches)
