"""Camtrap DP 1.0: into the package that the pictures came from, or a new one from what the collection knows.

A package that is given goes out as it came (`camtrapfilled.py`). A new one has a deployment for each place, a medium for each
file, an observation for each item. What the standard requires and nobody knows (coordinates, times) stays empty and is
named; nothing is made up but for two words of the project, which are named, too. Time and memory: the collection, or the package.
"""

import json
import mimetypes
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cccount_dist.campaign.answerwords import plural
from cccount_dist.individuals.roster import Individual
from flows.exchange.csvfiles import csv_bytes
from flows.exchange.formats.camtrapfilled import filled
from flows.exchange.formats.source import Source, Written, called, notes
from storage.version import __version__

_STANDARD = "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0"
DEPLOYMENTS = ("deploymentID", "locationID", "locationName", "latitude", "longitude", "deploymentStart", "deploymentEnd")
MEDIA = ("mediaID", "deploymentID", "captureMethod", "timestamp", "filePath", "filePublic", "fileName", "fileMediatype")
OBSERVATIONS = (
    "observationID", "deploymentID", "mediaID", "eventStart", "eventEnd", "observationLevel", "observationType", "individualID",
    "bboxX", "bboxY", "bboxWidth", "bboxHeight", "classificationMethod", "classifiedBy", "observationTags", "observationComments",
)  # fmt: skip
_BOX = OBSERVATIONS[8:12]
_NO_PLACE = "unknown"


def camtrap_dp(source: Source) -> Written:
    """Fill in the package that was given, or make one."""
    return _made(source) if source.choices.package is None else filled(source, source.choices.package)


def _made(source: Source) -> Written:
    shows = dict(source.pictures)
    items = range(len(source.census.facts.ids))
    no_animals = frozenset(source.census.no_animals)
    media: dict[str, dict[str, object]] = {}
    observations = []
    for item in items:
        medium = _medium(source, item)
        media.setdefault(str(medium["mediaID"]), medium)
        observations.append(_observation(source, item, medium, shows.get(item), is_animal=item not in no_animals))
    deployments = _deployments(source, list(media.values()))
    files = {
        "datapackage.json": json.dumps(_package(source, deployments), indent=2, ensure_ascii=False).encode(),
        "deployments.csv": csv_bytes(deployments, DEPLOYMENTS),
        "media.csv": csv_bytes(list(media.values()), MEDIA),
        "observations.csv": csv_bytes(observations, OBSERVATIONS),
    }
    untimed = sum(not one["timestamp"] for one in media.values())
    unplaced = [str(one["deploymentID"]) for one in deployments if one["latitude"] == ""]
    note = notes(
        f"no latitude and longitude, which the standard requires, of {', '.join(unplaced[:5])}"
        f"{' …' if len(unplaced) > 5 else ''}: --places FILE" if unplaced else None,
        f"{plural(untimed, 'picture')} without the time that the standard requires" if untimed else None,
        "fill in samplingDesign, captureMethod and contributors in datapackage.json: no picture tells them",
    )  # fmt: skip
    return Written(files, len(observations), note)


def _medium(source: Source, item: int) -> dict[str, object]:
    address = source.address(item)
    path = (
        address.path
        if "://" in address.path or not address.path.startswith(("/", ".", "~"))
        else Path(address.path).absolute().as_uri()
    )
    name = address.path.rpartition("/")[2]
    return {
        "mediaID": source.census.facts.ids[item]
        if address.box is None and address.offset is None
        else source.uri(item).partition("#xywh")[0],
        "deploymentID": source.place(item) or _NO_PLACE,
        "captureMethod": "",
        "timestamp": _written(source.when(item)),
        "filePath": path,
        "filePublic": "false",
        "fileName": name,
        "fileMediatype": mimetypes.guess_type(name)[0] or "image/jpeg",
    }


def _observation(
    source: Source, item: int, medium: Mapping[str, object], one: Individual | None, *, is_animal: bool
) -> dict[str, object]:
    box = source.box(item)
    by = [] if one is None or item not in one.checked_items else list(one.checked_by)
    side = source.side(item)
    return {
        "observationID": source.census.facts.ids[item],
        "deploymentID": medium["deploymentID"],
        "mediaID": medium["mediaID"],
        "eventStart": medium["timestamp"],
        "eventEnd": medium["timestamp"],
        "observationLevel": "media",
        "observationType": "animal" if one is not None else "unclassified" if is_animal else "unknown",
        "individualID": called(one) if one is not None else "",
        **dict(zip(_BOX, ("",) * 4 if box is None else (f"{share:.6f}" for share in box), strict=True)),
        "classificationMethod": "human" if by else "machine",
        "classifiedBy": " | ".join(by) or "cccount",
        "observationTags": f"side:{side}" if side else "",
        "observationComments": "" if is_animal else "no animal, said by hand",
    }


def _deployments(source: Source, media: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """One for each place, from the first picture to the last unless the places say otherwise."""
    times: dict[str, list[str]] = {}
    for one in media:
        times.setdefault(str(one["deploymentID"]), []).append(str(one["timestamp"]))
    found: list[dict[str, object]] = []
    for name, seen in sorted(times.items()):
        where = source.choices.places.get(name)
        known = sorted(moment for moment in seen if moment)
        start, end = (known[0], known[-1]) if known else ("", "")
        found.append({
            "deploymentID": name,
            "locationID": name,
            "locationName": name,
            "latitude": "" if where is None or where.latitude is None else where.latitude,
            "longitude": "" if where is None or where.longitude is None else where.longitude,
            "deploymentStart": _written(where.start) if where is not None and where.start else start,
            "deploymentEnd": _written(where.end) if where is not None and where.end else end,
        })  # fmt: skip
    return found


def _package(source: Source, deployments: Iterable[Mapping[str, Any]]) -> dict[str, object]:
    rows = list(deployments)
    points = [
        (float(row["longitude"]), float(row["latitude"])) for row in rows if row["longitude"] != "" and row["latitude"] != ""
    ]
    days = sorted(str(row[end])[:10] for row in rows for end in ("deploymentStart", "deploymentEnd") if row[end])
    title = source.individuals.workspace.location.rstrip("/").rpartition("/")[2]
    return {
        "profile": f"{_STANDARD}/camtrap-dp-profile.json",
        "name": f"cccount-{source.individuals.workspace.uuid}",
        "id": source.individuals.workspace.uuid,
        "created": _written(datetime.now(UTC)),
        "title": title,
        "contributors": [{"title": "unknown", "role": "contact"}],
        "sources": [{"title": "cccount", "version": __version__}],
        "project": {
            "title": title,
            "samplingDesign": "opportunistic",
            "captureMethod": ["activityDetection"],
            "individualAnimals": True,
            "observationLevel": ["media"],
        },
        "spatial": _spatial(points),
        "temporal": {"start": days[0] if days else "", "end": days[-1] if days else ""},
        "taxonomic": [],
        "resources": [
            {
                "name": name,
                "path": f"{name}.csv",
                "profile": "tabular-data-resource",
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "schema": f"{_STANDARD}/{name}-table-schema.json",
            }
            for name in ("deployments", "media", "observations")
        ],
    }


def _spatial(points: Sequence[tuple[float, float]]) -> dict[str, object]:
    """The rectangle that has all places in it, as GeoJSON; without a place no point."""
    if not points:
        return {"type": "MultiPoint", "coordinates": []}
    (west, south), (east, north) = (tuple(end(one[axis] for one in points) for axis in (0, 1)) for end in (min, max))
    return {"type": "Polygon", "coordinates": [[[west, south], [east, south], [east, north], [west, north], [west, south]]]}


def _written(moment: datetime | None) -> str:
    """A time as the standard has it: whole seconds, with its zone."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


__all__ = ["camtrap_dp"]
