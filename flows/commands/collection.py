"""Commands that make a collection ready: what is in it, a vector for each image, who is similar."""

from typing import Annotated

import typer

from flows import texts
from flows.commands.common import Compute, Json, Memory, Workers, Workspace, run, show

app = typer.Typer(rich_markup_mode="rich")


@app.command()
def init(
    workspace: Workspace,
    images: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A folder of images, read recursively; with --manifest, where its paths start."),
    ] = None,
    manifest: Annotated[
        str | None, typer.Option(metavar="FILE", help="A csv or parquet table with a path or uri for each item.")
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Vectors: .npy, .npz, .parquet, .zarr, or a folder with img_emb/. Several times: views of the same items.",
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|COLUMN", help="Known classes, for simulation: .npy, .csv, .parquet, or a column of the manifest."
        ),
    ] = None,
    json_: Json = False,
) -> None:
    """Make a workspace from images, a table or vectors.

    Example: cccount init census --images photos/
    """
    from flows.initialise import initialise

    report = initialise(workspace, images=images, manifest=manifest, embeddings=embeddings, labels=labels)
    show(report, json_, texts.initialised)


@app.command()
def extend(
    workspace: Workspace,
    images: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="A folder of images, read recursively; with --manifest, where its paths start."),
    ] = None,
    manifest: Annotated[str | None, typer.Option(metavar="FILE", help="A table with a path or uri for each item.")] = None,
    labels: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="A column of the manifest with labels, or `folder`.")
    ] = None,
    json_: Json = False,
) -> None:
    """Add images to a workspace. Items keep their numbers, and `cccount embed` then embeds only the new ones.

    Example: cccount extend census --images photos-of-may/
    """
    from flows.initialise import extend as add

    show(add(workspace, images=images, manifest=manifest, labels=labels), json_, texts.extended)


@app.command()
def bursts(
    workspace: Workspace,
    into: Annotated[str, typer.Argument(metavar="NEW", help="The workspace to make.", show_default=False)],
    seconds: Annotated[float, typer.Option(help="Frames of a burst follow each other within this time.")] = 3.0,
    similarity: Annotated[float, typer.Option(help="And are at least so similar (cosine).")] = 0.8,
    json_: Json = False,
) -> None:
    """Make a second workspace with the first frame of every burst, so that a burst counts once.

    Example: cccount bursts census census-bursts --seconds 5
    """
    from flows.initialise import first_frames

    show(first_frames(workspace, into, seconds=seconds, similarity=similarity), json_, texts.first_frames)


@app.command()
def embed(
    workspace: Workspace,
    encoder: Annotated[
        str, typer.Option(metavar="NAME", help="Which encoder; `cccount doctor` lists those that work here.")
    ] = "auto",
    components: Annotated[
        int | None, typer.Option(help="Centre the vectors and keep this many principal components.", show_default=False)
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first image that cannot be read.")] = False,
    compute: Compute = "local",
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Give every image a vector.

    An image that cannot be read is recorded with its reason and left out; the others go on.

    Example: cccount embed census
    """
    report = run(
        "embed",
        workspace=workspace,
        encoder=encoder,
        components=components,
        strict=strict,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
    )
    show(report, json_, texts.embedded)


@app.command()
def neighbors(
    workspace: Workspace,
    k: Annotated[int, typer.Option(help="Neighbours to keep for each item.")] = 50,
    metric: Annotated[str, typer.Option(metavar="cosine|correlation|euclidean", help="What similar means.")] = "cosine",
    engine: Annotated[str, typer.Option(metavar="exact|approximate", help="exact up to some hundred thousand items.")] = "exact",
    store_similarity: Annotated[
        bool, typer.Option("--store-similarity", help="Keep all similarities as a blockwise store, too.")
    ] = False,
    compute: Compute = "local",
    workers: Workers = None,
    memory_limit: Memory = None,
    json_: Json = False,
) -> None:
    """Find the nearest neighbours and the degree of every item.

    Example: cccount neighbors census --k 50
    """
    report = run(
        "neighbors",
        workspace=workspace,
        k=k,
        metric=metric,
        engine=engine,
        store_similarity=store_similarity,
        compute=compute,
        workers=workers,
        memory_limit=memory_limit,
    )
    show(report, json_, texts.neighbours)
