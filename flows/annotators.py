"""`cccount annotators`: who may answer on the review page."""

from typing import Any

from cccount_dist.review.annotators import Annotators
from storage.workspace import Workspace


def add_annotator(workspace: str, name: str) -> dict[str, Any]:
    return {"annotator": name, "token": Annotators(Workspace.open(workspace)).add(name)}


def list_annotators(workspace: str) -> dict[str, Any]:
    return {"annotators": Annotators(Workspace.open(workspace)).names()}


def remove_annotator(workspace: str, name: str) -> dict[str, Any]:
    Annotators(Workspace.open(workspace)).remove(name)
    return {"removed": name}
