"""What the stages before a campaign may be told, each declared once. Light to import."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cccount_dist.campaign.options import STRICT_REPLAY
from cccount_dist.options import Option, Options, from_folder
from flows.compute.options import ComputeOptions
from storage.errors import InputError

ENGINES = ("exact", "approximate")
# Options of older versions, and why they went: whoever still gives one is told.
GONE = {
    "store_similarity": "is gone: similarities are computed faster than they were read from the store, and nothing keeps them "
    "any more; leave it out",
}


def _labels_located(labels: str, folder: Path) -> str:
    """Labels are a file or a column of the manifest."""
    from cccount_dist.embedding.readers.labels import is_label_file

    return from_folder(labels, folder) if is_label_file(labels) else labels


def _encoder_located(encoder: str, folder: Path) -> str:
    family, colon, path = encoder.partition(":")
    return f"{family}:{from_folder(path, folder)}" if family == "onnx" and colon and path else encoder


def _check_metric(metric: str) -> object:
    from cccount_dist.similarity.metrics import check_metric

    return check_metric(metric)


def _check_map(wanted: str) -> object:
    from cccount_dist.embedding.fitting import check_map

    return check_map(wanted)


def _check_noun(noun: str) -> object:
    from cccount_dist.campaign.noun import read_noun

    return read_noun(noun)


def _check_engine(engine: str) -> None:
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}: use one of {', '.join(ENGINES)}")


def _check_times(times: str) -> object:
    from cccount_dist.embedding.readers.photofacts import check_times

    return check_times(times)


def _check_place(place_from: str) -> object:
    from cccount_dist.embedding.readers.photofacts import place_finder

    return place_finder(place_from)


def _check_side(side_from: str) -> object:
    from cccount_dist.embedding.readers.idparts import finder

    return finder(side_from, "--side-from")


def _check_gps(gps: str) -> object:
    from cccount_dist.embedding.readers.photofacts import check_gps

    return check_gps(gps)


_TIMES = Option("Read from each file when it was taken: exif.", metavar="exif", read=_check_times, shown="none")
_PLACE = Option(
    "Where pictures were taken: a folder level of their path, from 1, or a regular expression.", metavar="LEVEL|PATTERN",
    read=_check_place, shown="none",
)  # fmt: skip
_SIDE = Option(
    "The side of the animal that pictures show, from their path: a folder level, or a regular expression.",
    metavar="LEVEL|PATTERN", read=_check_side, shown="none",
)  # fmt: skip
_GPS = Option("Read from each file where it was taken: exif.", metavar="exif", read=_check_gps, shown="none")
_IMAGES = (
    "A folder of images, tars or a Camtrap DP package, read with all its subfolders; with --manifest, where its paths start."
)
_MANIFEST = Option("A table with a path or uri for each item, or a COCO file.", metavar="FILE", located=from_folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions(Options):
    """What is in the collection."""

    images: Annotated[str | None, Option(_IMAGES, metavar="DIR", located=from_folder)] = None
    manifest: Annotated[str | None, _MANIFEST] = None
    embeddings: Annotated[
        tuple[str, ...],
        Option(
            "Vectors that somebody else computed: .npy, .npz, .parquet, .zarr; several: views of the same items.",
            metavar="FILE",
            located=from_folder,
        ),
    ] = ()
    distances: Annotated[
        str | None,
        Option(
            "Distances instead of vectors: a square .npy or .zarr, a sparse graph .npz, pairs .parquet (u, v, distance).",
            metavar="FILE",
            located=from_folder,
        ),
    ] = None
    labels: Annotated[
        str | None,
        Option(
            "Known classes, for simulation: .npy, .csv, .parquet, or a column of the manifest.", metavar="FILE|COLUMN",
            located=_labels_located,
        ),
    ] = None  # fmt: skip

    noun: Annotated[
        str | None,
        Option("What is in it, for words on page and report: individual, or person/people.", metavar="WORD", read=_check_noun),
    ] = None

    times: Annotated[str | None, _TIMES] = None
    place_from: Annotated[str | None, _PLACE] = None
    gps: Annotated[str | None, _GPS] = None
    side_from: Annotated[str | None, _SIDE] = None

    def check_source(self) -> None:
        """Raise `InputError` unless exactly one source is named. Distances may be of images, or of the items of a manifest."""
        if self.distances is not None and self.embeddings:
            raise InputError("--distances stand in the place of vectors: leave --embeddings out, or --distances")
        if self.distances is not None:
            return
        if (not self.embeddings) == (self.images is None and self.manifest is None):
            raise InputError(
                "give exactly one of --images, --manifest (with --images for where its paths start), --embeddings and --distances"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendOptions(Options):
    """What is added to a collection."""

    images: Annotated[
        str | None,
        Option("A folder of images, read with all its subfolders; with --manifest, where its paths start.", metavar="DIR"),
    ] = None
    manifest: Annotated[str | None, Option("A table with a path or uri for each item.", metavar="FILE")] = None
    embeddings: Annotated[
        str | None,
        Option("Vectors of the encoder that made those of the workspace: .npy, .npz, .parquet, .zarr.", metavar="FILE"),
    ] = None
    prefix: Annotated[
        str | None, Option("Put this before every new id: camera cards repeat their names.", metavar="TEXT", shown="none")
    ] = None
    labels: Annotated[str | None, Option("A column of the manifest with labels, or `folder`.", metavar="COLUMN")] = None

    times: Annotated[str | None, _TIMES] = None
    place_from: Annotated[str | None, _PLACE] = None
    gps: Annotated[str | None, _GPS] = None
    side_from: Annotated[str | None, _SIDE] = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if (self.embeddings is None) == (self.images is None and self.manifest is None):
            raise InputError(
                "give exactly one of --images, --manifest (with --images for where its paths start) and --embeddings"
            )
        if self.prefix == "":
            raise InputError("--prefix is empty: leave it out, or give a text such as card2/")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedOptions(ComputeOptions):
    """A vector for each image."""

    encoder: Annotated[
        str, Option("Which encoder; `cccount doctor` lists those that work here.", metavar="NAME", located=_encoder_located)
    ] = "auto"
    components: Annotated[int | None, Option("Centre the vectors and keep this many principal components.")] = None
    map: Annotated[
        str | None,
        Option(
            "A map of the collection, fitted without labels, if it helps.", metavar="auto|none", read=_check_map,
            shown="auto with the default encoder, none with others and with given vectors",
        ),
    ] = None  # fmt: skip
    strict: Annotated[bool, Option("Stop at the first image that cannot be read.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborsOptions(ComputeOptions):
    """Who is similar to whom."""

    k: Annotated[
        int | None,
        Option("Neighbours to keep for each item.", least=1, rule="at least 1", shown="50, fewer in a small collection"),
    ] = None
    metric: Annotated[
        str | None,
        Option(
            "How similarity is measured.", metavar="cosine|correlation|euclidean", read=_check_metric,
            shown="cosine; euclidean where distances were given",
        ),
    ] = None  # fmt: skip
    engine: Annotated[
        str, Option("exact, or approximate: for a million items and more.", metavar="|".join(ENGINES), read=_check_engine)
    ] = "exact"


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchesOptions(ComputeOptions):
    """Points that pictures share with their nearest."""

    nearest: Annotated[int, Option("Neighbours of each item that its picture is compared with.", least=1, rule="at least 1")] = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions(Options):
    """Which reports are written again if their answers have changed."""

    campaigns: Annotated[tuple[str, ...], Option("Names of campaigns.", metavar="NAME")] = ()


def _check_cron(cron: str) -> None:
    if not re.fullmatch(r"[\w*/,?#-]+( [\w*/,?#-]+){4}", cron):
        raise InputError(f"a schedule has five fields (minute, hour, day, month, weekday) such as '*/5 * * * *', not {cron!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOptions(Options):
    """When a Prefect server takes the next step of each campaign, and looks for damage."""

    every: Annotated[
        float | None, Option("Seconds between two steps of a campaign.", metavar="SECONDS", above=0.0, shown="300")
    ] = None
    cron: Annotated[
        str | None, Option("When to take a step, instead of `every`; UTC.", metavar="CRON", read=_check_cron, shown="*/5 * * * *")
    ] = None
    verify: Annotated[
        str | None, Option("When to check every stored byte; UTC.", metavar="CRON", read=_check_cron, shown="0 3 * * *")
    ] = None

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.every is not None and self.cron is not None:
            raise InputError("give --every or --cron, not both")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdvanceOptions(Options):
    """How a campaign is advanced."""

    strict_replay: Annotated[bool, STRICT_REPLAY] = False
