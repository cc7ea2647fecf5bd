"""`cccount init`: a collection from images, a manifest or given vectors, and the workspace that holds it.

Everything that can be wrong with the input is found before the first byte is written. Killed while vectors are copied, the
same command goes on where it stopped; failed, it takes back what it wrote. Whatever is there already is kept.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cccount_dist.campaign.outcome import Outcome, for_words, optional, plain_fields
from cccount_dist.embedding.additions import add, add_given, named_again, with_prefix
from cccount_dist.embedding.bursts import SECONDS, SIMILARITY, find_bursts
from cccount_dist.embedding.copies import exact_copies
from cccount_dist.embedding.encoders import plain_part
from cccount_dist.embedding.fromdistances import place
from cccount_dist.embedding.given import ATTRIBUTES, given_collection, given_items, is_of_distances, of_distances, write_given
from cccount_dist.embedding.projection import KEY as PROJECTION
from cccount_dist.embedding.readers.distances import Distances, open_distances
from cccount_dist.embedding.readers.labels import is_label_file, labelled, with_label_file
from cccount_dist.embedding.readers.photofacts import with_exif_places, with_exif_times, with_places
from cccount_dist.embedding.readers.sides import with_sides
from cccount_dist.embedding.readers.source import files_left_out, read_images, read_manifest
from cccount_dist.embedding.readers.vectors import Vectors
from cccount_dist.embedding.readers.viewfiles import open_views
from cccount_dist.embedding.shard import finite_rows
from cccount_dist.room import Size
from cccount_dist.taken import require, size_of
from flows.compute.progress import progress
from flows.stages.embed import Failure
from flows.stages.factsfound import facts_found
from flows.stages.options import ExtendOptions, InitOptions
from storage.arrays import JSON, ShardedArray
from storage.errors import InputError, WorkspaceError
from storage.objects import is_remote, open_objects
from storage.rowcache import row_cache
from storage.schema import EMBEDDINGS, ENCODED, NEIGHBOR_INDEX, PREVIOUS
from storage.workspace import Workspace

FEWEST = 2
_MOST_NAMED = 3  # copies, and files of one, that are named
FIRST_ROWS = 64  # of given vectors: enough to notice that they are others


@dataclass(frozen=True, slots=True, kw_only=True)
class Initialised(Outcome):
    """What is in a new workspace."""

    workspace: str
    items: int
    dimensions: int | None
    labelled: int
    failed: Sequence[Failure]
    skipped: Mapping[str, int] | None = optional()  # files that are no images: their ending, and how many
    copies: Sequence[Sequence[str]] | None = optional()  # ids of items whose files are the same, byte for byte
    shift: float | None = optional()  # of given distances: by how much all squares became larger, as a share of their mean
    known: str | None = for_words()  # of the pictures, beside their looks

    def words(self) -> str:
        vectors = f", vectors of {self.dimensions} dimensions" if self.dimensions else ""
        labels = ", with labels" if self.labelled else ""
        following = "neighbors" if self.dimensions else "embed"
        known = [] if self.known is None else [self.known]
        lines = [f"{self.workspace}: {self.items:,} items{vectors}{labels}.", *known, *self._left_out()]
        return "\n".join([*lines, f"Next: cccount {following} {shlex.quote(self.workspace)}"])

    def _left_out(self) -> list[str]:
        lines = []
        if self.skipped:
            what = ", ".join(f"{count:,} {ending}" for ending, count in self.skipped.items())
            lines.append(f"Left out, because they are no images by their names: {what}.")
        if self.failed:
            first = self.failed[0]
            lines.append(f"{len(self.failed):,} items cannot be used; the first: {first.id}: {first.reason}.")
        if self.shift:
            lines.append(
                f"No points have exactly these distances: all squares were made larger by {self.shift:.3g} of their mean; "
                "which of two distances is larger stays as it was."
            )
        if self.copies:
            more = sum(len(group) - 1 for group in self.copies)
            shown = "; ".join(" = ".join(group[:_MOST_NAMED]) for group in self.copies[:_MOST_NAMED])
            rest = "; …" if len(self.copies) > _MOST_NAMED else ""
            are = "file is an exact copy of another" if more == 1 else "files are exact copies of others"
            lines.append(f"{more:,} {are}: {shown}{rest}.")
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Extended(Outcome):
    """What was added to a workspace."""

    workspace: str
    items: int
    added: int
    labelled: int
    following: str = ""  # the next command
    again: int = 0  # of them, files that were there already under other ids
    known: str | None = for_words()  # of those that were added, beside their looks

    def words(self) -> str:
        twice = f" {self.again:,} of them are files that were there under other ids: these count twice." if self.again else ""
        known = "" if self.known is None else f"\n{self.known}"
        return f"{self.added:,} items added, {self.items:,} in all.{twice}{known}\nNext: cccount {self.following}"

    def json(self) -> dict[str, object]:
        return {name: value for name, value in plain_fields(self).items() if name not in ("following", "known")}


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFrames(Outcome):
    """A workspace with the first frame of every burst."""

    workspace: str
    items: int
    frames: int
    dimensions: int

    def words(self) -> str:
        return (
            f"{self.workspace}: {self.items:,} first frames of {self.frames:,} items.\nNext: cccount neighbors {self.workspace}"
        )


def initialise(workspace: str, options: InitOptions) -> Initialised:
    """Make a workspace from one source.

    `images` beside a manifest is the folder that its relative paths start from. Several `embeddings` are views of the same items.
    """
    if (there := _finished(workspace, options)) is not None:
        return there
    source = _source(options)
    table, vectors = source.table, source.vectors
    if len(table) < FEWEST:
        raise InputError(f"{_called(options)} has one item: there is nothing to compare it with")
    if vectors is None:
        Workspace.create(workspace, table, noun=options.noun)
    else:
        _write(workspace, table, vectors, source.attributes, noun=options.noun)
    return _initialised(workspace, options, table, None if vectors is None else vectors.dimensions, source.shift)


def _initialised(
    workspace: str, options: InitOptions, table: pa.Table, dimensions: int | None, shift: float | None = None
) -> Initialised:
    ids, copies = table.column("id"), exact_copies(_files(table))
    failed = table.filter(pa.compute.is_valid(table.column("problem"))).select(["id", "problem"]).to_pylist()
    return Initialised(
        workspace=workspace,
        items=len(table),
        dimensions=dimensions,
        labelled=labelled(table),
        failed=[Failure(row["id"], row["problem"]) for row in failed],
        skipped=(files_left_out(options.images, options.labels) or None) if options.manifest is None else None,
        copies=[[ids[place].as_py() for place in group] for group in copies] or None,
        shift=shift,
        known=facts_found(table),
    )


def _files(table: pa.Table) -> Iterator[str | None]:
    """Where each picture lies; the second item of one that shows both sides is no copy of it."""
    before = None
    for value in table.column("uri"):
        uri = _text(value)
        yield None if uri == before else uri
        before = uri


def _text(value: pa.Scalar) -> str | None:
    found: str | None = value.as_py()
    return found


def _finished(location: str, options: InitOptions) -> Initialised | None:
    """What the same command made, if it was killed after its last step; None if there is something left to do.

    `InputError` for a workspace that is finished, or of another collection: it is kept.
    """
    if not Workspace.exists(location):
        return None
    workspace = Workspace.open(location)
    if (options.embeddings or options.distances) and is_unfinished(workspace):
        return None
    require_source(workspace, options)
    dimensions = workspace.array(EMBEDDINGS).shape[1] if workspace.has_array(EMBEDDINGS) else None
    if workspace.finish():
        return _initialised(location, options, workspace.collection().table, dimensions)
    has_neighbors = workspace.has_array(NEIGHBOR_INDEX)
    following = "embed" if dimensions is None else "status" if has_neighbors else "neighbors"
    raise InputError(
        f"{location} is a workspace already, made from the same collection, and stays as it is: nothing is left to do, "
        f"go on with `cccount {following} {location}`; `cccount extend {location} …` adds items; for another collection name "
        "another folder"
    )


def is_unfinished(workspace: Workspace) -> bool:
    """Whether `init` was killed while it copied vectors: then it goes on when it is called again."""
    if any(workspace.has_array(spec) for spec in (ENCODED, PREVIOUS)):
        return False
    if not workspace.has_array(EMBEDDINGS):
        return True
    array = workspace.array(EMBEDDINGS)
    return (array.attributes == ATTRIBUTES or is_of_distances(array.attributes)) and bool(array.missing())


def require_source(workspace: Workspace, options: InitOptions) -> None:
    """Raise `InputError` if the workspace was made from something else. Items that were added later are no difference."""
    source = _source(options, look=False)
    wanted, vectors = source.table, source.vectors
    found = workspace.collection().table
    columns = ["id", "uri", *(["label"] if options.labels is not None else [])]
    if not wanted.select(columns).equals(found.select(columns)):
        _explain_difference(workspace, wanted.select(columns), found.select(columns), _called(options))
    array = next((workspace.array(one) for one in (ENCODED, EMBEDDINGS) if workspace.has_array(one)), None)
    if options.distances is not None and (array is None or array.attributes != source.attributes):
        raise InputError(
            f"{workspace.location} was not made from the distances in {options.distances}: name another workspace, or the file "
            "that it was made from"
        )
    if vectors is None or array is None or array.attributes != ATTRIBUTES or 0 in array.missing():
        return
    first = next(iter(vectors.blocks()))[: min(FIRST_ROWS, array.shard_rows)]
    if vectors.dimensions != array.shape[1] or not _alike(first, array.read(0, len(first))):
        raise InputError(
            f"{workspace.location} holds other vectors than {_called(options)}: name another workspace, or the file that it was "
            "made from"
        )


def _alike(given: NDArray[np.float32], kept: NDArray[np.float32]) -> bool:
    """Whether these are the same vectors; one with NaN or infinite values is kept as NaN."""
    good = finite_rows(given)
    return bool(np.array_equal(given[good], kept[good]))


def _explain_difference(workspace: Workspace, wanted: pa.Table, found: pa.Table, source: str) -> None:
    there, here = (set(zip(*(one.column(name).to_pylist() for name in one.column_names), strict=True)) for one in (found, wanted))
    if here <= there:
        return
    if there < here:
        raise InputError(
            f"{source} has {len(here) - len(there):,} items more than {workspace.location}: add them with "
            f"`cccount extend {workspace.location} …`, or name another workspace"
        )
    stranger = next(row for row in wanted.to_pylist() if tuple(row.values()) not in there)
    raise InputError(
        f"{workspace.location} was made from another collection than {source}: it has no {_told(stranger)}; name another "
        "workspace, or the collection that it was made from"
    )


def _told(row: Mapping[str, object]) -> str:
    return f"item {row['id']!r} at {row['uri']}" + (f" with the label {row['label']!r}" if "label" in row else "")


@dataclass(frozen=True, slots=True)
class _Source:
    """The collection table, and the vectors where they are given, with what their array says of them."""

    table: pa.Table
    vectors: Vectors | None = None
    attributes: Mapping[str, JSON] = field(default_factory=lambda: ATTRIBUTES)
    shift: float | None = None


def _source(options: InitOptions, *, look: bool = True) -> _Source:
    """Read what the options name; `look`: also which vectors cannot be used, and what vectors stand for distances."""
    options.check_source()
    labels = options.labels
    label_file = Path(labels) if labels is not None and is_label_file(labels) else None
    column = labels if label_file is None else None
    found: _Source
    if options.distances is not None:
        found = _measured(Path(options.distances), options, column, look=look)
    elif not options.embeddings:
        found = _Source(_with_facts(_read(options.images, options.manifest, column), options))
    else:
        paths = [Path(one) for one in options.embeddings]
        vectors = open_views(paths, column)
        require("init --embeddings", Size(vectors.items, vectors.dimensions))
        if look:
            with progress("reading vectors", vectors.items, "vectors") as update:
                found = _Source(given_collection(vectors, paths[0], update), vectors)
        else:
            found = _Source(given_items(vectors), vectors)
    return found if label_file is None else replace(found, table=with_label_file(found.table, label_file))


def _measured(path: Path, options: InitOptions, column: str | None, *, look: bool) -> _Source:
    """Read distances, of images or of the items of a manifest in their order, if these are named."""
    of_items = options.images is not None or options.manifest is not None
    if column is not None and not of_items:
        raise InputError(f"--labels {column}: distances have no columns; give labels as a file (.npy, .csv, .parquet)")
    table = _with_facts(_read(options.images, options.manifest, column), options) if of_items else None
    given = open_distances(path, None if table is None else table.column("id").to_pylist())
    attributes = of_distances(given.digest)
    vectors, shift = _placed(given) if look else (None, None)
    if table is None:
        columns: dict[str, Sequence[str | None]] = {} if given.ids is None else {"id": given.ids}
        table = given_items(Vectors(given.items, 0, lambda: iter(()), columns))
    return _Source(table, vectors, attributes, shift)


def _placed(given: Distances) -> tuple[Vectors, float]:
    with progress("shortest ways", given.items, "items") as update:
        square = given.matrix(update)
    placed = place(square)
    return Vectors(given.items, placed.vectors.shape[1], lambda: iter((placed.vectors,))), placed.shift


def _called(options: InitOptions) -> str:
    return str(options.distances or options.manifest or options.images or options.embeddings[0])


def extend(workspace: str, options: ExtendOptions) -> Extended:
    """Add the items of a folder, a manifest or a file of vectors that the workspace has not yet.

    `cccount embed` then embeds only the new images; vectors are there at once.
    """
    if options.labels is not None and is_label_file(options.labels):
        raise InputError(
            f"--labels {options.labels}: labels of added items come from the folder's names or a column of the manifest"
        )
    opened = Workspace.open(workspace)
    again: list[tuple[str, str]] = []
    if options.embeddings is not None:
        added = _extend_given(opened, Path(options.embeddings), options)
    else:
        found = _with_facts(_read(options.images, options.manifest, options.labels), options)
        require("extend", Size(size_of(opened).items + len(found)))
        if options.prefix is not None:
            found = with_prefix(found, options.prefix)
        again = named_again(opened.collection(), found)
        if again and options.prefix is not None:  # a manifest may mean it; a prefix is for other files of the same names
            raise InputError(
                f"{len(again):,} of {len(found):,} files are in the collection already, under other ids ({again[0][0]} is "
                f"{again[0][1]}), and would be counted twice: name only new files, or give the --prefix that they were added with"
            )
        added = add(opened, found)
    collection = opened.collection()
    return Extended(
        workspace=workspace,
        items=collection.items,
        added=added,
        labelled=labelled(collection.table),
        following=_following(opened),
        again=len(again),
        known=facts_found(collection.table.slice(collection.items - added)) if added else None,
    )


def _extend_given(opened: Workspace, path: Path, options: ExtendOptions) -> int:
    vectors = open_views([path], options.labels)
    require("extend --embeddings", Size(size_of(opened).items + vectors.items, vectors.dimensions))
    with progress("reading vectors", vectors.items, "vectors") as update:
        found = given_collection(vectors, path, update)
    if options.prefix is not None:
        found = with_prefix(found, options.prefix)
    named = options.prefix is not None or "id" in vectors.columns
    with progress("writing vectors", opened.collection().items + vectors.items, "vectors") as update:
        return add_given(opened, found, vectors, named=named, progress=update)


def _following(opened: Workspace) -> str:
    """The stage that is to be run next."""
    embedded = opened.has_array(EMBEDDINGS) and not opened.array(EMBEDDINGS).missing()
    attributes = opened.array(EMBEDDINGS).attributes if opened.has_array(EMBEDDINGS) else {}
    if not embedded and attributes.get("components") is not None and "map" not in attributes:
        return f"embed {opened.location} --components {attributes['components']}"
    return f"{'neighbors' if embedded else 'embed'} {opened.location}"


def first_frames(workspace: str, into: str, *, seconds: float = SECONDS, similarity: float = SIMILARITY) -> FirstFrames:
    """Make a second workspace with the first frame of every burst and its vector, so that a burst counts once."""
    opened = Workspace.open(workspace)
    require("bursts", size_of(opened))
    array, table = opened.array(EMBEDDINGS), opened.collection().table
    array.require_complete()
    source = opened.array(ENCODED) if opened.has_array(ENCODED) else array
    plain = row_cache(source, opened.cache_folder(), "plain")[:, : plain_part(str(source.attributes["encoder"]))]
    bursts = find_bursts(table, plain, seconds=seconds, similarity=similarity)
    kept = table.take(bursts.first)
    kept = kept.set_column(0, table.schema.field("item"), pa.array(range(len(kept)), pa.int64()))
    if len(kept) < FEWEST:
        raise InputError(f"{workspace} is one single burst: nothing would be left to compare")

    def of_first(one: ShardedArray) -> Vectors:
        rows, cached = one.shard_rows, row_cache(one, opened.cache_folder(), "plain" if one is source else "raw")
        return Vectors(len(kept), one.shape[1], lambda: (cached[bursts.first[i : i + rows]] for i in range(0, len(kept), rows)))

    def beside(made: Workspace) -> None:
        """What the vectors were made of, and how, goes with them."""
        if source is not array:
            encoded = made.create_array(ENCODED, (len(kept), source.shape[1]), attributes=source.attributes)
            write_given(encoded, of_first(source))
            made.objects.replace(PROJECTION, opened.objects.read(PROJECTION))

    _write(into, kept, of_first(array), array.attributes, beside=beside)
    return FirstFrames(workspace=into, items=len(kept), frames=len(table), dimensions=array.shape[1])


def _read(images: str | None, manifest: str | None, column: str | None) -> pa.Table:
    folder = images if images is None or is_remote(images) else Path(images)
    if manifest is not None and is_remote(manifest):
        raise InputError(f"--manifest {manifest}: copy the table to a disk first; the images that it names may be in the store")
    if manifest is not None:
        return read_manifest(Path(manifest), column, folder)
    if folder is None:
        raise InputError("give --images, or --manifest (with --images for where its paths start)")
    return read_images(folder, column)


def _with_facts(table: pa.Table, options: InitOptions | ExtendOptions) -> pa.Table:
    """The items with the places and times that paths and files say, where that is wanted."""
    if options.place_from is not None:
        table = with_places(table, options.place_from)
    if options.times is not None:
        with progress("reading times", table.num_rows, "files") as update:
            table = with_exif_times(table, update)
    if options.gps is not None:
        with progress("reading coordinates", table.num_rows, "files") as update:
            table = with_exif_places(table, update)
    return with_sides(table, options.side_from)


def _write(
    location: str,
    table: pa.Table,
    vectors: Vectors,
    attributes: Mapping[str, JSON] = ATTRIBUTES,
    *,
    noun: str | None = None,
    beside: Callable[[Workspace], None] = lambda _: None,
) -> None:
    workspace = _unfinished(location, table, attributes)
    fresh = not is_remote(location) and not Path(location).exists()  # other things may lie below a prefix
    if workspace is None:
        workspace = Workspace.create(location, table, noun=noun)
    try:
        beside(workspace)
        shape = (vectors.items, vectors.dimensions)
        array = workspace.create_array(EMBEDDINGS, shape, attributes=attributes)
        with progress("writing vectors", vectors.items, "vectors") as update:
            write_given(array, vectors, update)
    except BaseException:
        _take_back(location, fresh=fresh)
        raise


def _unfinished(location: str, table: pa.Table, attributes: Mapping[str, JSON]) -> Workspace | None:
    """Return the workspace that a killed `init` of the same vectors left, or None."""
    try:
        workspace = Workspace.open(location)
    except WorkspaceError:
        return None
    if not workspace.collection().table.equals(table):
        return None
    if not workspace.has_array(EMBEDDINGS):
        return workspace
    array = workspace.array(EMBEDDINGS)
    return workspace if array.attributes == attributes and array.missing() else None


def _take_back(location: str, *, fresh: bool) -> None:
    objects = open_objects(location)
    # First what makes it a workspace: a process that is killed in here leaves no workspace either.
    for key in ("workspace.toml", EMBEDDINGS.name, ENCODED.name, PROJECTION, "markers", "collection.parquet"):
        objects.delete(key)
    if fresh:
        objects.delete("")


__all__ = ["extend", "first_frames", "initialise", "is_unfinished", "require_source"]
