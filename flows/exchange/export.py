"""`cccount export`: individuals out, in the formats of the field.

csv (individuals, encounters, pictures), Camtrap DP with `individualID`, Darwin Core with `organismID`, capture histories for secr
and MARK, wildlife-datasets' metadata, COCO, and what people said about pairs as splink's labels. What is there is kept. Text that
a spreadsheet would run as a formula goes out with an apostrophe in front. Time and memory: the collection.
"""

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from cccount_dist.campaign.outcome import Outcome, optional
from cccount_dist.embedding.address import Address
from cccount_dist.individuals.census import Census, Individuals
from cccount_dist.individuals.roster import Individual, encounters_of
from cccount_dist.individuals.spoken import answers_about
from cccount_dist.taken import require_for
from flows.exchange.csvfiles import csv_bytes, guarded
from flows.exchange.individuals import COLUMNS, flattened, individual_rows, written
from storage.errors import InputError
from storage.objects import explained
from storage.reading import read_regular, reading, require_file

_MOST_DAYS = 36_600  # of an occasion
_MOST_OCCASIONS = 10_000  # 27 years of days: each is a column of every history
_TOKEN = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Export(Outcome):
    """What went out."""

    format: str
    path: str
    rows: int
    note: str | None = optional()

    def words(self) -> str:
        return f"{self.path}: {self.rows:,} rows ({self.format}).{f' {self.note}.' if self.note else ''}"


@dataclass(frozen=True, slots=True)
class Source:
    """What is exported: the census, where pictures are, and what the user chose."""

    individuals: Individuals
    census: Census
    gap_minutes: float
    occasion_days: int
    package: Path | None
    uris: Sequence[str | None]

    @property
    def pictures(self) -> list[tuple[int, Individual]]:
        """Every picture that shows somebody, in the order of the collection."""
        return sorted(((item, one) for one in self.census.individuals for item in one.items), key=lambda pair: pair[0])

    def uri(self, item: int) -> str:
        return self.uris[item] or ""


@dataclass(frozen=True, slots=True)
class Written:
    """The files of an export by name, the number of rows, and what to know about them."""

    files: Mapping[str, bytes]
    rows: int
    note: str | None = None


def export(
    workspace: str,
    form: str,
    to: str,
    *,
    campaign: str | None = None,
    gap_minutes: float = 30.0,
    occasion_days: int = 1,
    package: str | None = None,
) -> Export:
    """Write the individuals of a campaign in one of `FORMATS`; nothing is written over."""
    if form not in FORMATS:
        raise InputError(f"--format takes {', '.join(FORMATS)}, not {form!r}")
    if not 1 <= occasion_days <= _MOST_DAYS:
        raise InputError(f"an occasion has at least 1 day, and at most {_MOST_DAYS:,}, not {occasion_days:,}")
    target = Path(to)
    if os.path.lexists(target):
        raise InputError(f"{to} is there already: name another place, or move it away")
    opened = Individuals.open(workspace, campaign)
    require_for("export", opened.workspace, opened.folder.name)
    uris = opened.workspace.collection().table.column("uri").to_pylist()
    original = None if package is None else Path(package)
    source = Source(opened, opened.census(gap_minutes), gap_minutes, occasion_days, original, uris)
    found = FORMATS[form](source)
    _write(target, found.files)
    return Export(format=form, path=to, rows=found.rows, note=found.note)


def _write(target: Path, files: Mapping[str, bytes]) -> None:
    """Write one file as `target`, several into a folder that appears when all of them are whole."""
    unfinished = target.with_name(f".{target.name}.unfinished")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if list(files) == [""]:
            unfinished.write_bytes(files[""])
        else:
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            for name, data in files.items():
                (unfinished / name).write_bytes(data)
        unfinished.rename(target)
    except OSError as error:
        raise explained(error, target) from error


# -- the formats ----------------------------------------------------------------------------------------------------------


def _csv(source: Source) -> Written:
    census, ids = source.census, source.census.facts.ids
    encounters, pictures = [], []
    for one in census.individuals:
        checked = frozenset(one.checked_items)
        for number, run in enumerate(encounters_of(one.items, census.facts, source.gap_minutes), start=1):
            times = [moment for item in run if (moment := census.facts.when(item)) is not None]
            encounter = f"{one.individual}-{number}"
            encounters.append({
                "encounter": encounter, "individual": one.individual, "name": one.name, "photos": len(run),
                "place": census.facts.places[run[0]], "first": written(min(times, default=None)),
                "last": written(max(times, default=None)),
            })  # fmt: skip
            pictures += [
                {"picture": ids[item], "individual": one.individual, "name": one.name, "encounter": encounter,
                 "taken_at": written(census.facts.when(item)), "place": census.facts.places[item],
                 "checked": item in checked, "uri": source.uri(item)}
                for item in run
            ]  # fmt: skip
    files = {
        "individuals.csv": _table(individual_rows(census), COLUMNS),
        "encounters.csv": _table(encounters, ("encounter", "individual", "name", "photos", "place", "first", "last")),
        "pictures.csv": _table(pictures, ("picture", "individual", "name", "encounter", "taken_at", "place", "checked", "uri")),
    }
    return Written(files, len(census.individuals) + len(encounters) + len(pictures))


def _camtrap(source: Source) -> Written:
    """The package that the pictures came from, with `individualID` filled in; every other cell and file stays as found."""
    package = source.package
    if package is None:
        raise InputError(
            "Camtrap DP needs coordinates and more that pictures do not say: give the package that they came from with --package"
        )
    for name in ("datapackage.json", "observations.csv"):
        require_file(package / name)
    who = {source.census.facts.ids[item]: guarded(_called(one)) for item, one in source.pictures}
    observations = package / "observations.csv"
    with reading(observations):
        rows = list(csv.reader(io.StringIO(read_regular(observations).decode("utf-8-sig"), newline="")))
        header = rows[0] if rows else []
        if "individualID" not in header:
            raise InputError(f"{observations} has no column individualID: is it a package of Camtrap DP 1.0?")
        column = header.index("individualID")
        keys = [header.index(name) for name in ("observationID", "mediaID") if name in header]
        filled = 0
        for row in rows[1:]:
            shown = next((who[row[key]] for key in keys if len(row) > key and row[key] in who), None)
            if shown is not None and len(row) > column:
                row[column] = shown
                filled += 1
    sink = io.StringIO(newline="")
    csv.writer(sink, lineterminator="\n").writerows(rows)
    return Written({**_files_of(package), "observations.csv": sink.getvalue().encode()}, filled)


def _files_of(package: Path) -> dict[str, bytes]:
    """The tables of a package as they are; what a link brings in from elsewhere is not the package's to give away."""
    found = {}
    for path in sorted(package.iterdir()):
        if path.suffix in (".json", ".csv"):
            with reading(path):
                if not path.resolve().is_relative_to(package.resolve()):
                    raise InputError(f"{path} is a link to a file outside the package: put the file itself there")
                found[path.name] = read_regular(path)
    return found


def _darwin_core(source: Source) -> Written:
    columns = ("occurrenceID", "basisOfRecord", "organismID", "organismName", "eventDate", "locality", "associatedMedia",
               "identifiedBy", "identificationVerificationStatus")  # fmt: skip
    facts = source.census.facts
    rows = [
        {
            "occurrenceID": f"{source.individuals.workspace.uuid}:{facts.ids[item]}",
            "basisOfRecord": "MachineObservation",
            "organismID": f"{source.individuals.workspace.uuid}:{one.individual}",
            "organismName": one.name,
            "eventDate": written(facts.when(item)),
            "locality": facts.places[item],
            "associatedMedia": source.uri(item),
            "identifiedBy": list(one.checked_by),
            "identificationVerificationStatus": one.sure,
        }
        for item, one in source.pictures
    ]
    return Written({"": _table(rows, columns)}, len(rows))


def _secr(source: Source) -> Written:
    """The captures of `secr::read.capthist`: session, ID, occasion, detector; one row for an individual, occasion and place."""
    caught, note = _captures(source)
    rows = sorted({(_token(_called(one)), occasion, _token(place)) for one, occasion, place in caught})
    text = "# Session ID Occasion Detector\n" + "".join(f"1 {who} {occasion} {place}\n" for who, occasion, place in rows)
    return Written({"": text.encode()}, len(rows), note)


def _mark(source: Source) -> Written:
    """An .inp of MARK: a history of 0 and 1 for each individual, and its number of animals, which is 1."""
    caught, note = _captures(source)
    occasions = max((occasion for _, occasion, _ in caught), default=0)
    when: dict[int, set[int]] = {}
    for one, occasion, _ in caught:
        when.setdefault(one.individual, set()).add(occasion)
    lines = [
        f"/* {_token(_called(one))} */ {''.join('01'[k in when[one.individual]] for k in range(1, occasions + 1))} 1;\n"
        for one in source.census.individuals
        if one.individual in when
    ]
    return Written({"": "".join(lines).encode()}, len(lines), note)


def _captures(source: Source) -> tuple[list[tuple[Individual, int, str]], str]:
    """Who was caught on which occasion where, and what to know. An occasion is some days, from the day of the first picture."""
    facts = source.census.facts
    timed = [(one, moment.date(), facts.places[item] or "place") for item, one in source.pictures
             if (moment := facts.when(item)) is not None]  # fmt: skip
    if not timed:
        raise InputError("no picture has a time: capture histories need one (`cccount init --manifest`, column taken_at)")
    first: date = min(day for _, day, _ in timed)
    last = max(day for _, day, _ in timed)
    if (occasions := (last - first).days // source.occasion_days + 1) > _MOST_OCCASIONS:
        raise InputError(
            f"from {first} to {last} there are {occasions:,} occasions, and at most {_MOST_OCCASIONS:,} can be written: make"
            " them longer with --occasion-days, or see whether those times are right (`cccount individuals` lists them)"
        )
    caught = [(one, (day - first) // timedelta(days=source.occasion_days) + 1, place) for one, day, place in timed]
    left = len(source.pictures) - len(timed)
    note = f"occasions of {source.occasion_days} day{'' if source.occasion_days == 1 else 's'} from {first}"
    return caught, f"{note}; {left:,} pictures without a time were left out" if left else note


def _wildlife_datasets(source: Source) -> Written:
    facts = source.census.facts
    rows = [
        {
            "image_id": facts.ids[item],
            "identity": _called(one),
            "path": Address.parse(source.uri(item)).path if source.uri(item) else "",
            "date": written(facts.when(item)),
            "orientation": one.sides[0] if len(one.sides) == 1 else "",
        }
        for item, one in source.pictures
    ]
    return Written({"": _table(rows, ("image_id", "identity", "path", "date", "orientation"))}, len(rows))


def _coco(source: Source) -> Written:
    """Images, boxes and a category for each individual; a picture without a box is its own box, where its size is known."""
    table = source.individuals.workspace.collection().table
    widths, heights = (table.column(name).to_pylist() for name in ("width", "height"))
    images: dict[str, dict[str, object]] = {}
    annotations = []
    for item, one in source.pictures:
        address = Address.parse(source.uri(item)) if source.uri(item) else Address(source.census.facts.ids[item])
        width, height = widths[item] or 0, heights[item] or 0
        image = images.setdefault(
            address.path, {"id": len(images) + 1, "file_name": address.path, "width": width, "height": height}
        )
        box = address.box
        scale = (width / 100, height / 100) if box is not None and box.percent else (1.0, 1.0)
        drawn = [0.0, 0.0, float(width), float(height)] if box is None else [
            box.left * scale[0], box.top * scale[1], box.width * scale[0], box.height * scale[1],
        ]  # fmt: skip
        annotations.append({
            "id": item + 1, "image_id": image["id"], "category_id": one.individual, "bbox": drawn,
            "area": drawn[2] * drawn[3], "iscrowd": 0,
        })  # fmt: skip
    categories = [{"id": one.individual, "name": _called(one)} for one in source.census.individuals]
    document = {"images": list(images.values()), "annotations": annotations, "categories": categories}
    return Written({"": json.dumps(document, indent=1).encode()}, len(annotations))


def _pairs(source: Source) -> Written:
    """What people said about pairs, as splink takes labels: `clerical_match_score` is 1 for same and 0 for different."""
    ids = source.census.facts.ids
    rows = [
        {"unique_id_l": ids[one.u], "unique_id_r": ids[one.v], "clerical_match_score": one.value, "annotator": one.who}
        for one in answers_about(source.individuals.workspace, source.individuals.campaign, source.individuals.others())
    ]
    return Written({"": _table(rows, ("unique_id_l", "unique_id_r", "clerical_match_score", "annotator"))}, len(rows))


FORMATS: dict[str, Callable[[Source], Written]] = {
    "csv": _csv,
    "camtrap-dp": _camtrap,
    "darwin-core": _darwin_core,
    "secr": _secr,
    "mark": _mark,
    "wildlife-datasets": _wildlife_datasets,
    "coco": _coco,
    "pairs": _pairs,
}


def _called(one: Individual) -> str:
    """What an individual is called in a table of another tool."""
    return one.name or f"individual-{one.individual}"


def _token(text: str) -> str:
    """A word that readers of text with spaces between the cells take as one.

    >>> _token("meadow north"), _token("=1+1"), _token("")
    ('meadow_north', '_1_1', '_')
    """
    return _TOKEN.sub("_", text) or "_"


def _table(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    return csv_bytes([{name: flattened(row[name]) for name in columns} for row in rows], columns)


__all__ = ["FORMATS", "Export", "export"]
