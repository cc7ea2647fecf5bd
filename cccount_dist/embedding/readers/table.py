"""A manifest (csv, parquet or jsonl) to rows of the collection: path or uri, optional id, label, group, time, box to crop.

Read in batches. Relative paths are relative to the manifest's folder and may not climb out of it; absolute paths stand as they
are. A path that does not exist is an error here, before anything is written: one missing disk is not a million bad images.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from cccount_dist.embedding.address import Address, Box
from cccount_dist.embedding.readers.csvform import HEAD, csv_form
from cccount_dist.embedding.readers.sides import COLUMNS as SIDE_COLUMNS
from cccount_dist.embedding.readers.sides import side_of
from cccount_dist.embedding.readers.tablerows import BATCH, Row, batches
from storage.errors import InputError
from storage.objects import is_remote
from storage.reading import open_regular, reason

PATH_COLUMNS = ("path", "uri", "file_name", "filename", "filepath", "image_path")
TIME_COLUMNS = ("taken_at", "time", "timestamp", "datetime")
LONGEST_TEXT = 4096  # characters of an id, label or group: as many as a path may have
PLACED = {"latitude": ("latitude", "lat"), "longitude": ("longitude", "lon", "lng")}
_NAMES = frozenset({"id", "label", "group", "bbox", "width", "height", "mediaid", *PATH_COLUMNS, *TIME_COLUMNS, *SIDE_COLUMNS})


def read_table(manifest: Path, label: str | None = None, root: Path | str | None = None) -> Iterator[pa.Table]:
    """Yield rows of the collection; `label` names the column of labels (default: `label`, where there is one)."""
    start = root.rstrip("/") if isinstance(root, str) else (root or manifest.parent).resolve()
    yield from batches(_rows(manifest, label, start))


def _rows(manifest: Path, label: str | None, root: Path | str) -> Iterator[Row]:
    number = 0
    known: set[str] = set()
    for number, record in enumerate(records(manifest), start=1):
        where = f"{manifest} row {number}"
        if label is not None and label not in record:
            raise InputError(f"{manifest} has no column {label!r} to take labels from: it has {', '.join(record)}")
        name = first(record, PATH_COLUMNS)
        if name is None:
            raise InputError(
                f"{where}: no path: a manifest needs one of the columns {', '.join(PATH_COLUMNS)}, filled in every row"
            )
        path = resolve(str(name), root, where)
        require_image(path, known, where)
        box = parse_box(record.get("bbox"), where)
        address = Address(path, box=box)
        default_id = str(name) if box is None else str(name) + address.uri().removeprefix(path)
        yield {
            "id": text(record.get("id")) or default_id,
            "uri": address.uri(),
            "label": text(record.get(label or "label")),
            "group": text(record.get("group")),
            "taken_at": parse_time(first(record, TIME_COLUMNS), where),
            "width": whole_pixels(record.get("width"), where),
            "height": whole_pixels(record.get("height"), where),
            "side": side_of(record),
            **{name: degrees(first(record, columns), name, where) for name, columns in PLACED.items()},
        }
    if not number:
        raise InputError(f"{manifest} has no rows")


def degrees(value: object, name: str, where: str) -> float | None:
    """Return a latitude or longitude; None for an empty cell."""
    if value in (None, ""):
        return None
    most = 90.0 if name == "latitude" else 180.0
    try:
        found = float(str(value))
    except ValueError:
        found = math.nan
    if not -most <= found <= most:
        raise InputError(f"{where}: the {name} {text(value)!r:.40} is no number of degrees from -{most:g} to {most:g}")
    return found


def require_image(path: str, known: set[str], where: str) -> None:
    """Raise `InputError` if there is no such image. Of a bucket one is asked for: a million questions would take an hour."""
    if not is_remote(path):
        if not Path(path).is_file():
            raise InputError(f"{where}: there is no file {path:.300}")
        return
    bucket = "/".join(path.split("/")[:3])
    if bucket not in known and Address(path).stored_size() is None:
        raise InputError(f"{where}: there is no object {path:.300}")
    known.add(bucket)


def rows_in(manifest: Path) -> int:
    """Return how many rows a table has, or a little more: the lines of a text, as they are counted without being read."""
    if manifest.suffix.lower() == ".parquet":
        return int(pq.read_metadata(manifest).num_rows)
    with open_regular(manifest) as source:
        return sum(block.count(b"\n") for block in iter(lambda: source.read(1 << 20), b""))


def records(path: Path) -> Iterator[Mapping[str, object]]:
    """Yield the rows of a csv (every value a string), parquet or jsonl file as mappings; an empty cell is None."""
    try:
        if path.suffix.lower() == ".parquet":
            with pq.ParquetFile(path) as source:
                for batch in source.iter_batches(batch_size=BATCH, use_threads=False):
                    yield from batch.to_pylist()
        elif path.suffix.lower() == ".csv":
            yield from _csv(path)
        elif path.suffix.lower() == ".jsonl":
            yield from _json_lines(path)
        else:
            raise InputError(f"{path} is not a table that cccount can read: use .csv, .parquet or .jsonl")
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        raise InputError(f"cannot read {path}: {reason(error)}") from error


def _csv(path: Path) -> Iterator[Mapping[str, object]]:
    if not path.stat().st_size:
        return
    with open_regular(path) as beginning:
        form = csv_form(beginning.read(HEAD), _NAMES)
    read = pyarrow.csv.ReadOptions(encoding=form.encoding.removesuffix("-sig"), skip_rows=form.skipped)  # Arrow knows the mark
    parse = pyarrow.csv.ParseOptions(delimiter=form.separator)
    with pyarrow.csv.open_csv(path, read_options=read, parse_options=parse) as source:  # for its header
        names = source.schema.names
    as_text = pyarrow.csv.ConvertOptions(
        column_types={name: pa.string() for name in names}, strings_can_be_null=True, null_values=[""]
    )
    with pyarrow.csv.open_csv(path, read_options=read, parse_options=parse, convert_options=as_text) as source:
        for batch in source:
            yield from batch.to_pylist()


def _json_lines(path: Path) -> Iterator[Mapping[str, object]]:
    with path.open(encoding="utf-8") as source:
        for number, line in enumerate(source, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{path} line {number} is not JSON: {reason(error)}") from error
            if not isinstance(record, dict):
                raise InputError(f"{path} line {number} is not a JSON object")
            yield record


def first(record: Mapping[str, object], names: tuple[str, ...]) -> object | None:
    """Return the first of these columns that has a value."""
    return next((record[name] for name in names if record.get(name) not in (None, "")), None)


def resolve(name: str, root: Path | str, where: str) -> str:
    """Return the absolute path that a manifest means by `name`.

    >>> resolve("a/../b.jpg", Path("/data"), "row 1")
    '/data/b.jpg'
    """
    if name.startswith("file://"):
        name = unquote(name.removeprefix("file://"))
    if is_remote(name):
        return name
    if "://" in name:
        raise InputError(f"{where}: {name:.300} is neither a file nor in an object store (s3://…): download or mount it")
    if ".." not in name:  # nearly always, and a million times
        return name if name.startswith("/") else f"{root}/{name}"
    parts: list[str] = []
    for part in PurePosixPath(name).parts:
        if part != "..":
            parts.append(part)
        elif parts and parts[-1] != "/":
            parts.pop()
        else:
            raise InputError(f"{where}: the path {name:.300} climbs out of {root}: use an absolute path if that is meant")
    path = PurePosixPath(*parts)
    return str(path) if path.is_absolute() else f"{root}/{path}"


def parse_box(value: object, where: str) -> Box | None:
    """Return the box in pixels from x, y, width, height: a list, or text with commas.

    >>> parse_box("[1, 2, 30, 40]", "row 1")
    Box(left=1.0, top=2.0, width=30.0, height=40.0, percent=False)
    """
    if value in (None, ""):
        return None
    pieces = re.split(r"[,;\s]+", value.strip("[]() ")) if isinstance(value, str) else value
    try:
        left, top, width, height = (float(piece) for piece in pieces)  # type: ignore[attr-defined]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{where}: the box {value!r:.60} is not x, y, width, height in pixels") from error
    return clipped_box(left, top, width, height, where=where)


def clipped_box(left: float, top: float, width: float, height: float, *, percent: bool = False, where: str) -> Box:
    """Return the part of the box that is right of and below the picture's corner: detectors reach a little outside."""
    right, bottom = left + width, top + height
    box = Box(max(left, 0.0), max(top, 0.0), right - max(left, 0.0), bottom - max(top, 0.0), percent)
    if not (0 < box.width < float("inf") and 0 < box.height < float("inf")):
        raise InputError(f"{where}: the box {left:g}, {top:g}, {width:g}, {height:g} has no area")
    return box


def parse_time(value: object, where: str) -> datetime | None:
    """Return the time in UTC; without a zone it is taken as UTC. ISO 8601, or the EXIF form `2024:05:01 06:30:00`.

    >>> parse_time("2024:05:01 06:30:00", "row 1").isoformat()
    '2024-05-01T06:30:00+00:00'
    """
    if value in (None, ""):
        return None
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(_dashed(str(value)))
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where}: {value!r:.60} is not a time: write 2024-05-01T06:30:00") from error


def _dashed(value: str) -> str:
    return re.sub(r"^(\d{4}):(\d\d):(\d\d)", r"\1-\2-\3", value.strip())


def text(value: object) -> str | None:
    """Return a label, group or id as text; None for an empty one.

    >>> text(3.0), text(" "), text("lynx")
    ('3', None, 'lynx')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, dict | list | tuple):
        raise InputError(f"a label, group or id is text or a number, not {value!r:.60}")
    found = str(value).strip()
    if len(found) > LONGEST_TEXT:
        raise InputError(f"a label, group or id has at most {LONGEST_TEXT} characters, not {len(found):,}: {found[:40]!r}…")
    return found or None


def whole_pixels(value: object, where: str) -> int | None:
    """Return a width or height; None for an empty one.

    >>> whole_pixels("640.0", "row 1")
    640
    """
    if value in (None, ""):
        return None
    try:
        pixels = int(float(str(value)))
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where}: {value!r:.60} is not a number of pixels") from error
    if not 0 <= pixels < 2**31:
        raise InputError(f"{where}: {value!r:.60} is not a number of pixels")
    return pixels


__all__ = [
    "clipped_box", "first", "parse_box", "parse_time", "read_table", "records", "require_image", "resolve", "rows_in", "text",
    "whole_pixels",
]  # fmt: skip
