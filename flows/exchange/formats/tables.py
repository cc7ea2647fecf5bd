"""Tables: our own three, Darwin Core occurrences, wildlife-datasets' metadata, splink's labels."""

import json
from collections.abc import Iterable, Mapping, Sequence

from cccount_dist.individuals.roster import encounters_of
from cccount_dist.individuals.spoken import answers_about
from flows.exchange.csvfiles import csv_bytes
from flows.exchange.formats.source import Source, Written, called
from flows.exchange.individuals import COLUMNS, flattened, individual_rows, written


def csv_tables(source: Source) -> Written:
    """Individuals, encounters and pictures."""
    census, ids = source.census, source.census.facts.ids
    encounters, pictures = [], []
    for one in census.individuals:
        checked = frozenset(one.checked_items)
        for number, run in enumerate(encounters_of(one.items, census.facts, source.choices.gap_minutes), start=1):
            times = [moment for item in run if (moment := census.facts.when(item)) is not None]
            encounter = f"{one.individual}-{number}"
            encounters.append({
                "encounter": encounter, "individual": one.individual, "name": one.name, "photos": len(run),
                "place": census.facts.places[run[0]], "first": written(min(times, default=None)),
                "last": written(max(times, default=None)),
            })  # fmt: skip
            pictures += [
                {"picture": ids[item], "individual": one.individual, "name": one.name, "encounter": encounter,
                 "taken_at": written(census.facts.when(item)), "place": census.facts.places[item], "side": source.side(item),
                 "checked": item in checked, "uri": source.uri(item)}
                for item in run
            ]  # fmt: skip
    files = {
        "individuals.csv": _table(individual_rows(census), COLUMNS),
        "encounters.csv": _table(encounters, ("encounter", "individual", "name", "photos", "place", "first", "last")),
        "pictures.csv": _table(
            pictures, ("picture", "individual", "name", "encounter", "taken_at", "place", "side", "checked", "uri")
        ),
    }
    return Written(files, len(census.individuals) + len(encounters) + len(pictures))


def darwin_core(source: Source) -> Written:
    """An occurrence for each picture; `organismID` is the individual, the same in every export of the workspace."""
    columns = ("occurrenceID", "basisOfRecord", "occurrenceStatus", "organismID", "organismName", "eventDate", "locality",
               "decimalLatitude", "decimalLongitude", "geodeticDatum", "associatedMedia", "identifiedBy",
               "identificationVerificationStatus")  # fmt: skip
    facts, uuid = source.census.facts, source.individuals.workspace.uuid
    rows = []
    for item, one in source.pictures:
        where = source.choices.places.get(source.place(item))
        known = where is not None and where.latitude is not None and where.longitude is not None
        rows.append({
            "occurrenceID": f"{uuid}:{facts.ids[item]}",
            "basisOfRecord": "MachineObservation",
            "occurrenceStatus": "present",
            "organismID": f"{uuid}:{one.individual}",
            "organismName": one.name,
            "eventDate": written(facts.when(item)),
            "locality": facts.places[item],
            "decimalLatitude": where.latitude if where and known else None,
            "decimalLongitude": where.longitude if where and known else None,
            "geodeticDatum": "EPSG:4326" if known else None,
            "associatedMedia": source.uri(item),
            "identifiedBy": list(one.checked_by),
            "identificationVerificationStatus": one.sure,
        })  # fmt: skip
    return Written({"": _table(rows, columns)}, len(rows))


def wildlife_datasets(source: Source) -> Written:
    """What `WildlifeDataset(root, df=pandas.read_csv(PATH))` takes; `bbox` only if some picture is a part of its file."""
    columns = ["image_id", "identity", "path", "date", "orientation", "location"]
    rows = []
    for item, one in source.pictures:
        box, size = source.box(item), source.size(item) if source.address(item).box is not None else None
        drawn = None
        if box is not None and size is not None:
            drawn = json.dumps([round(share * side, 2) for share, side in zip(box, (*size, *size), strict=True)])
        rows.append({
            "image_id": source.census.facts.ids[item], "identity": called(one), "path": source.address(item).path,
            "date": written(source.when(item)), "orientation": source.side(item), "location": source.place(item), "bbox": drawn,
        })  # fmt: skip
    return Written({"": _table(rows, [*columns, "bbox"] if any(row["bbox"] for row in rows) else columns)}, len(rows))


def pairs(source: Source) -> Written:
    """What people said about pairs, as splink takes labels: `clerical_match_score` is 1 for same and 0 for different."""
    ids = source.census.facts.ids
    rows = [
        {"unique_id_l": ids[one.u], "unique_id_r": ids[one.v], "clerical_match_score": one.value, "annotator": one.who}
        for one in answers_about(source.individuals.workspace, source.individuals.campaign, source.individuals.others())
    ]
    return Written({"": _table(rows, ("unique_id_l", "unique_id_r", "clerical_match_score", "annotator"))}, len(rows))


def _table(rows: Iterable[Mapping[str, object]], columns: Sequence[str]) -> bytes:
    return csv_bytes([{name: flattened(row[name]) for name in columns} for row in rows], columns)


__all__ = ["csv_tables", "darwin_core", "pairs", "wildlife_datasets"]
