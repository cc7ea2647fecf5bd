"""Every array and table of a workspace, declared once: name, type, shape, meaning. Checked where a stage reads or writes it."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from storage import formats
from storage.errors import CorruptionError, InputError

FORMAT = formats.WORKSPACE.present  # of the whole workspace


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """A zarr array whose first axis is the item number (but for older versions' similarities: there it counts rows of tiles).

    `fill` is what a chunk that was never written reads as: a value that no stage can mistake for data.
    """

    name: str
    dtype: str
    dims: tuple[str, ...]
    fill: float
    meaning: str
    made_by: str = "the stage that writes it"

    def check(self, values: NDArray[np.generic], shape: tuple[int, ...]) -> None:
        """Raise `InputError` unless `values` may stand in this array at this shape."""
        if values.dtype != np.dtype(self.dtype):
            raise InputError(f"{self.name} holds {self.dtype}, not {values.dtype}")
        if values.shape != shape:
            raise InputError(f"{self.name} expects the shape {shape} here, not {values.shape}")


EMBEDDINGS = ArraySpec(
    "embeddings.zarr", "float32", ("item", "dimension"), float("nan"),
    "one vector for each item; a row of NaN is an item that could not be embedded", "`cccount embed`",
)  # fmt: skip
NEIGHBOR_INDEX = ArraySpec(
    "neighbors.zarr/index", "int32", ("item", "neighbor"), -1,
    "item numbers of the k most similar other items, most similar first, ties by item number; -1 for an item without a vector",
    "`cccount neighbors`",
)  # fmt: skip
NEIGHBOR_SIMILARITY = ArraySpec(
    "neighbors.zarr/similarity", "float32", ("item", "neighbor"), float("nan"),
    "similarity of those k items; NaN for an item without a vector", "`cccount neighbors`",
)  # fmt: skip
DEGREE = ArraySpec(
    "neighbors.zarr/degree", "float64", ("item",), float("nan"),
    "sum over all other items of the similarity clipped to [0, 1]: the denominator of the paper's Q(u); NaN without a vector",
    "`cccount neighbors`",
)  # fmt: skip
ENCODED = ArraySpec(
    "encoded.zarr", "float32", ("item", "dimension"), float("nan"),
    "what the encoder gave, kept when a map or `--components` makes embeddings.zarr of it; NaN as there", "`cccount embed`",
)  # fmt: skip
PREVIOUS = ArraySpec(
    "previous.zarr", "float32", ("item", "dimension"), float("nan"),
    "what the encoder gave before items were added: kept until `cccount embed` has taken it over", "`cccount embed`",
)  # fmt: skip
FEATURES = ArraySpec(
    "features.zarr", "int8", ("item", "point", "column"), -1,
    "optional: up to 300 points of each picture: x, y, and 128 numbers for what is around; zeros behind the last point",
    "`cccount matches`",
)  # fmt: skip
PREVIOUS_FEATURES = ArraySpec(
    "previous-features.zarr", "int8", ("item", "point", "column"), -1,
    "the same before items were added: kept until `cccount matches` has taken it over", "`cccount matches`",
)  # fmt: skip
MATCHES = ArraySpec(
    "matches.zarr", "int16", ("item", "neighbor"), -1,
    "optional: how many points of an item's picture and of each of its nearest match and lie alike; -1 without a neighbour",
    "`cccount matches`",
)  # fmt: skip
SIMILARITY = ArraySpec(
    "similarity.zarr", "float16", ("tile_row", "column"), float("nan"),
    "of an older version: similarities of all pairs, tile after tile; nothing reads them, and `cccount neighbors` removes them",
    "`cccount neighbors`",
)  # fmt: skip


def candidates(campaign: str) -> ArraySpec:
    """The array of one campaign that picks subclusters."""
    return ArraySpec(
        f"campaigns/{campaign}/candidates.zarr", "int32", ("candidate", "part", "place"), -1,
        "nearest items of each candidate, and their squared distances in whole numbers", "`cccount subcluster`",
    )  # fmt: skip


ARRAYS = (
    EMBEDDINGS, ENCODED, PREVIOUS, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY, DEGREE, SIMILARITY, FEATURES, PREVIOUS_FEATURES, MATCHES,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: pa.DataType
    meaning: str
    required: bool = True
    later: bool = False  # older workspaces lack it: it reads as empty there


@dataclass(frozen=True, slots=True)
class TableSpec:
    """A parquet table."""

    name: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [pa.field(c.name, c.type, nullable=not c.required, metadata={"meaning": c.meaning.encode()}) for c in self.columns]
        )

    def table(self, columns: Mapping[str, object]) -> pa.Table:
        """Return a new table; a later column that is not given is empty."""
        given = {c.name: columns[c.name] for c in self.columns if c.name in columns or not c.later}
        schema = pa.schema([self.schema.field(name) for name in given])
        return self.check(pa.table(given, schema=schema), f"new {self.name}").cast(self.schema)

    def check(self, table: pa.Table, where: str) -> pa.Table:
        """Return the table in declared column order; `CorruptionError` if a column is missing, mistyped or wrongly empty."""
        for column in self.columns:
            if column.name not in table.column_names and column.later:
                table = table.append_column(column.name, pa.nulls(table.num_rows, column.type))
            if column.name not in table.column_names:
                raise CorruptionError(f"{where}: the column {column.name!r} of the {self.name} table is missing")
            found = table.schema.field(column.name).type
            if found != column.type:
                raise CorruptionError(f"{where}: column {column.name!r} is {found}, and should be {column.type}")
            if column.required and table.column(column.name).null_count:
                raise CorruptionError(f"{where}: column {column.name!r} has empty values, and may not have any")
        return table.select([c.name for c in self.columns])

    def empty(self) -> pa.Table:
        return self.schema.empty_table()


_TIME = pa.timestamp("us", tz="UTC")

COLLECTION = TableSpec("collection", (
    Column("item", pa.int64(), "row number, from 0; never changes"),
    Column("id", pa.string(), "the user's name for the item; unique"),
    Column("uri", pa.string(), "where the image is; empty for vectors without images", required=False),
    Column("label", pa.string(), "known class, for simulation and tests", required=False),
    Column("group", pa.string(), "place, camera, burst: context for reviewers", required=False),
    Column("taken_at", _TIME, "when the picture was taken", required=False),
    Column("width", pa.int32(), "pixels", required=False),
    Column("height", pa.int32(), "pixels", required=False),
    Column("problem", pa.string(), "why the item has no vector", required=False),
    Column("side", pa.string(), "the side of the animal that it shows: left, right or other", required=False, later=True),
    Column("latitude", pa.float64(), "where the picture was taken, in degrees", required=False, later=True),
    Column("longitude", pa.float64(), "where the picture was taken, in degrees", required=False, later=True),
))  # fmt: skip

QUESTIONS = TableSpec("questions", (
    Column("question_id", pa.int64(), "from 0, without gaps"),
    Column("u", pa.int64(), "item"),
    Column("v", pa.int64(), "item"),
    Column("kind", pa.string(), "same or rating"),
    Column("purpose", pa.string(), "why the sampler asks it"),
    Column("round", pa.int32(), "the call of ask() that returned it, from 0"),
    Column("page", pa.int64(), "questions of one page are shown together", required=False),
    Column("asked_at", _TIME, "when it was written"),
    Column("after", pa.int64(), "rows of the answer log that the sampler had been told before it asked"),
))  # fmt: skip

ANSWERS = TableSpec("answers", (
    Column("answer_id", pa.string(), "made by whoever answered: a retry is recognised by it"),
    Column("question_id", pa.int64(), "-1: known from outside this campaign"),
    Column("u", pa.int64(), "item"),
    Column("v", pa.int64(), "item"),
    Column("value", pa.float64(), "1 same, 0 different, a rating in [0, 1]; empty: unsure", required=False),
    Column("page", pa.int64(), "the page on which it was answered", required=False),
    Column("annotator", pa.string(), "who answered"),
    Column("answered_at", _TIME, "when"),
    Column("seconds", pa.float32(), "how long it took; 0 for a machine"),
    Column("source", pa.string(), "people, labels, file, inferred"),
    Column("undoes", pa.string(), "answer_id that this row takes back", required=False),
    Column("clicks", pa.int32(), "clicks, taps and keys that marked or enlarged this cell of a sheet; empty: not counted",
           required=False, later=True),
))  # fmt: skip

# Answers in memory, each with the digest of the chain that ends with it. In a part the digests stand in the footer (`parts.py`).
CHAINED = TableSpec("answers", (
    *ANSWERS.columns,
    Column("chain", pa.string(), "digest of this row and the chain before it", required=False, later=True),
))  # fmt: skip

GOLD = TableSpec("gold", (
    Column("u", pa.int64(), "item"),
    Column("v", pa.int64(), "item"),
    Column("value", pa.float64(), "1 same, 0 different"),
    Column("origin", pa.string(), "the file that it came from"),
))  # fmt: skip

LABELS = TableSpec("labels", (
    Column("item", pa.int64(), "row number in the collection"),
    Column("id", pa.string(), "the user's name for the item"),
    Column("cluster", pa.int64(), "from 0; -1 for an item without a vector"),
))  # fmt: skip

SEEN = TableSpec("seen", (
    *LABELS.columns[:2],
    Column("cluster", pa.int64(), "from 0; -1 for an item that was not drawn, or that nobody could place"),
))  # fmt: skip

_MEASURED = {
    "right": "share of the items in the right group, from random pages",
    "precision": "of pairs that are together, the share that belongs together",
    "recall": "of pairs that belong together, the share that is together",
    "count": "how many classes there are",
}  # each with the ends of its interval
_ENDS = {"": "", "_low": ", low end of the interval", "_high": ", high end of the interval"}

GROUPINGS = TableSpec("groupings", (
    Column("answers", pa.int64(), "rows of the answer log that this grouping rests on"),
    Column("questions", pa.int64(), "asked of the oracle"),
    Column("inferred", pa.int64(), "answered for free by the constraint closure"),
    Column("clusters", pa.int64(), "how many there are"),
    Column("entropy", pa.float64(), "of the cluster sizes, in nats: falls as parts of one class are joined"),
    Column("nmi", pa.float64(), "normalised mutual information with the labels, where there are any", required=False),
    Column("ari", pa.float64(), "adjusted Rand index with the labels, where there are any", required=False),
    Column("warning", pa.string(), "a warning for whoever pays for the answers", required=False),
    Column("state", pa.string(), "running, waiting, done or stopped"),
    Column("refreshed_at", _TIME, "when"),
    Column("expected_classes", pa.float64(), "as a count: without groups that are probably parts of others", required=False,
           later=True),
    Column("against", pa.int64(), "sure answers that the groups go against: they contradict others", required=False, later=True),
    Column("jcc", pa.float64(), "Jaccard's coefficient of pairs, with the labels, if any", required=False, later=True),
    Column("rwcp", pa.float64(), "share of the items that are well placed, by the labels, when it stopped last", required=False,
           later=True),
    Column("glances", pa.int64(), "sheets that were answered", required=False, later=True),
    *(Column(name + end, pa.float64(), what + which, required=False, later=True)
      for name, what in _MEASURED.items() for end, which in _ENDS.items()),
    Column("random_pages", pa.int64(), "random sheets that these measures rest on", required=False, later=True),
    Column("least_sure", pa.list_(pa.int64()), "items, the least sure first", required=False, later=True),
    Column("doubtful", pa.list_(pa.int64()), "groups, the most doubtful first", required=False, later=True),
    Column("hour", pa.float64(), "by how much one more hour of a person should raise `right`", required=False, later=True),
))  # fmt: skip

INDIVIDUALS = TableSpec("individuals", (
    Column("individual", pa.int64(), "its number, which it keeps as long as most of its checked pictures stay together"),
    Column("name", pa.string(), "what people call it", required=False),
    Column("note", pa.string(), "what somebody wrote about it", required=False),
    Column("photos", pa.int64(), "pictures of it"),
    Column("encounters", pa.int64(), "times that it was met: pictures of one place within some minutes are one"),
    Column("first_seen", _TIME, "time of its first picture", required=False),
    Column("last_seen", _TIME, "time of its last picture", required=False),
    Column("places", pa.list_(pa.string()), "where it was met"),
    Column("sides", pa.list_(pa.string()), "sides that its pictures show"),
    Column("key_photo", pa.string(), "the id of the picture that stands for it"),
    Column("checked", pa.int64(), "how many of its pictures are joined by people's answers"),
    Column("sure", pa.string(), "confirmed, checked, partly checked, by looks, one picture"),
    Column("checked_by", pa.list_(pa.string()), "who joined pictures of it"),
    Column("against", pa.int64(), "people's answers which say that two of its pictures differ"),
    Column("known", pa.bool_(), "whether it is in a catalogue that was brought in"),
    Column("items", pa.list_(pa.int64()), "its pictures, the earliest first"),
))  # fmt: skip

IDENTITIES = TableSpec("identities", (
    Column("individual", pa.int64(), "its number; none is given twice"),
    Column("items", pa.list_(pa.int64()), "the pictures that it had when it was last listed"),
    Column("checked", pa.list_(pa.int64()), "those of them that people's answers join"),
    Column("live", pa.bool_(), "false: its pictures are others' now; it comes back if they are parted again"),
))  # fmt: skip

KNOWN_PICTURES = TableSpec("known", (
    Column("item", pa.int64(), "row number in the collection"),
    Column("name", pa.string(), "the individual that it shows"),
    Column("side", pa.string(), "the side that it shows", required=False),
    Column("origin", pa.string(), "the file that says so"),
))  # fmt: skip

KNOWN_PAIRS = TableSpec("pairs", (
    Column("u", pa.int64(), "item"),
    Column("v", pa.int64(), "item"),
    Column("value", pa.float64(), "1 same, 0 different"),
    Column("origin", pa.string(), "the file that says so"),
    Column("error", pa.float64(), "how often such a fact is wrong; empty: it is certain", required=False, later=True),
    Column("reason", pa.string(), "why it is believed, as the log of a campaign says it", required=False, later=True),
))  # fmt: skip

NEXT = TableSpec("next", (
    Column("u", pa.int64(), "item"),
    Column("v", pa.int64(), "item"),
    Column("purpose", pa.string(), "why the sampler would ask this now: the most uncertain first"),
))  # fmt: skip

SUBCLUSTERS = TableSpec("subclusters", (
    Column("item", pa.int64(), "row number in the collection"),
    Column("id", pa.string(), "the user's name for the item"),
    Column("subcluster", pa.int64(), "from 0"),
    Column("place", pa.int64(), "in the subcluster; 0 is its centroid. A place that nothing was found for has no row"),
    Column("checked", pa.bool_(), "whether the answers say that it is the same as the centroid; true for the centroid"),
    Column("distance", pa.float64(), "to the centroid: that of unit vectors, 0 to 2"),
))  # fmt: skip

SUBCLUSTERINGS = TableSpec("subclusterings", (
    Column("answers", pa.int64(), "rows of the answer log that these subclusters rest on"),
    Column("questions", pa.int64(), "asked of the oracle"),
    Column("inferred", pa.int64(), "answered for free by the constraint closure"),
    Column("subclusters", pa.int64(), "how many there are"),
    Column("checked", pa.int64(), "images that the answers confirm, centroids included"),
    Column("empty", pa.int64(), "places that nothing was found for"),
    Column("surplus", pa.int64(), "subclusters left out because their class has one already: K is too large by so many"),
    Column("sjc", pa.float64(), "subclustering Jaccard coefficient, where there are labels", required=False),
    Column("coverage", pa.float64(), "share of the classes that have a subcluster, where there are labels", required=False),
    Column("purity", pa.float64(), "mean share of a subcluster's commonest class, where there are labels", required=False),
    Column("state", pa.string(), "running, waiting, done or stopped"),
    Column("refreshed_at", _TIME, "when"),
))  # fmt: skip

ESTIMATES = TableSpec("estimates", (
    Column("answers", pa.int64(), "rows of the answer log that this estimate rests on"),
    Column("questions", pa.int64(), "asked of the oracle"),
    Column("inferred", pa.int64(), "answered for free by the constraint closure"),
    Column("estimate", pa.float64(), "number of clusters", required=False),
    Column("low", pa.float64(), "lower end of the interval", required=False),
    Column("high", pa.float64(), "upper end of the interval", required=False),
    Column("level", pa.float64(), "of the interval"),
    Column("state", pa.string(), "running, waiting, done or stopped"),
    Column("refreshed_at", _TIME, "when"),
    Column("forecast", pa.int64(), "questions that the wanted width takes in all, if known", required=False, later=True),
    Column("clusters_seen", pa.float64(), "there are at least so many, if the answers are right", required=False, later=True),
    Column("glances", pa.int64(), "pages that somebody was shown", required=False, later=True),
))  # fmt: skip
