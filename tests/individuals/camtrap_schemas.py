"""What Camtrap DP 1.0 says of the columns of its three tables, in our words: name, type, and what a cell must be.

For validation without a network: a package names the schemas by their address, and `frictionless` would fetch them.
"""

import copy
import json
from pathlib import Path
from typing import Any

_TIME = {"type": "datetime", "format": "%Y-%m-%dT%H:%M:%S%z"}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_BOX_SIDE = {"type": "number", "minimum": 1e-15, "maximum": 1}
_POSITIVE = {"type": "number", "minimum": 0}
_YES = {"type": "boolean"}
_TEXT: dict[str, Any] = {}
_NEEDED: dict[str, Any] = {"required": True}


def _one_of(*words: str) -> dict[str, Any]:
    return {"enum": list(words)}


TABLES: dict[str, dict[str, dict[str, Any]]] = {
    "deployments": {
        "deploymentID": {"required": True, "unique": True}, "locationID": _TEXT, "locationName": _TEXT,
        "latitude": {"type": "number", "required": True, "minimum": -90, "maximum": 90},
        "longitude": {"type": "number", "required": True, "minimum": -180, "maximum": 180},
        "coordinateUncertainty": {"type": "integer", "minimum": 1}, "deploymentStart": _TIME | _NEEDED,
        "deploymentEnd": _TIME | _NEEDED, "setupBy": _TEXT, "cameraID": _TEXT, "cameraModel": _TEXT,
        "cameraDelay": {"type": "integer", "minimum": 0}, "cameraHeight": _POSITIVE, "cameraDepth": _POSITIVE,
        "cameraTilt": {"type": "integer", "minimum": -90, "maximum": 90},
        "cameraHeading": {"type": "integer", "minimum": 0, "maximum": 360}, "detectionDistance": _POSITIVE,
        "timestampIssues": _YES, "baitUse": _YES, "featureType": _TEXT, "habitat": _TEXT, "deploymentGroups": _TEXT,
        "deploymentTags": _TEXT, "deploymentComments": _TEXT,
    },
    "media": {
        "mediaID": {"required": True, "unique": True}, "deploymentID": _NEEDED,
        "captureMethod": _one_of("activityDetection", "timeLapse"), "timestamp": _TIME | _NEEDED,
        "filePath": {"required": True, "pattern": r"^(?=^[^./~])(^((?!\.{2}).)*$).*$"}, "filePublic": _YES | _NEEDED,
        "fileName": _TEXT, "fileMediatype": {"required": True, "pattern": "^(image|video|audio)/.*$"}, "exifData": _TEXT,
        "favorite": _YES, "mediaComments": _TEXT,
    },
    "observations": {
        "observationID": {"required": True, "unique": True}, "deploymentID": _NEEDED, "mediaID": _TEXT, "eventID": _TEXT,
        "eventStart": _TIME | _NEEDED, "eventEnd": _TIME | _NEEDED, "observationLevel": _one_of("media", "event") | _NEEDED,
        "observationType": _one_of("animal", "human", "vehicle", "blank", "unknown", "unclassified") | _NEEDED,
        "cameraSetupType": _one_of("setup", "calibration"), "scientificName": _TEXT, "count": {"type": "integer", "minimum": 1},
        "lifeStage": _one_of("adult", "subadult", "juvenile"), "sex": _one_of("female", "male"), "behavior": _TEXT,
        "individualID": _TEXT, "individualPositionRadius": _POSITIVE,
        "individualPositionAngle": {"type": "number", "minimum": -90, "maximum": 90}, "individualSpeed": _POSITIVE,
        "bboxX": _SHARE, "bboxY": _SHARE, "bboxWidth": _BOX_SIDE, "bboxHeight": _BOX_SIDE,
        "classificationMethod": _one_of("human", "machine"), "classifiedBy": _TEXT, "classificationTimestamp": _TIME,
        "classificationProbability": _SHARE, "observationTags": _TEXT, "observationComments": _TEXT,
    },
}  # fmt: skip
_KEYS = {"media": ("deployments", "deploymentID"), "observations": ("media", "mediaID")}


def schema_of(table: str, columns: list[str]) -> dict[str, Any]:
    """A table schema for the columns that a file has, in its order."""
    fields = []
    for name in columns:
        rules: dict[str, Any] = {**TABLES[table][name]}
        form: dict[str, Any] = {key: rules.pop(key) for key in ("type", "format") if key in rules}
        fields.append({"name": name, "type": "string", **form, "constraints": rules})
    schema: dict[str, Any] = {"fields": fields, "primaryKey": f"{table.removesuffix('s') if table != 'media' else 'media'}ID"}
    if table in _KEYS:
        resource, key = _KEYS[table]
        schema["foreignKeys"] = [{"fields": key, "reference": {"resource": resource, "fields": key}}]
    return schema


def local(package: Path) -> dict[str, Any]:
    """The package's description with the schemas inside, where it names their addresses."""
    found: dict[str, Any] = copy.deepcopy(json.loads((package / "datapackage.json").read_text()))
    for resource in found["resources"]:
        if "path" not in resource:  # a table that stands inside, none of the standard's
            continue
        header = (package / resource["path"]).read_text(encoding="utf-8-sig").splitlines()[0].split(",")
        assert resource["schema"].endswith(f"/1.0/{resource['name']}-table-schema.json")
        resource["schema"] = schema_of(resource["name"], header)
    found.pop("profile")  # what stands there is looked at by name
    return found


REQUIRED = ("profile", "created", "contributors", "project", "spatial", "temporal", "taxonomic", "resources")
PROJECT = ("title", "samplingDesign", "captureMethod", "individualAnimals", "observationLevel")
