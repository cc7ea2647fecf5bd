"""`cccount annotators`: who may answer on the review page."""

from collections.abc import Sequence
from dataclasses import dataclass

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.review.annotators import Annotators
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class AnnotatorAdded(Outcome):
    """A new token; only a hash of it is kept."""

    annotator: str
    token: str

    def words(self) -> str:
        return f"The token of {self.annotator}, which is shown only now: {self.token}"


@dataclass(frozen=True, slots=True)
class AnnotatorList(Outcome):
    """Who has a token."""

    annotators: Sequence[str]

    def words(self) -> str:
        return "\n".join(self.annotators) or "Nobody has a token yet."


@dataclass(frozen=True, slots=True)
class AnnotatorRemoved(Outcome):
    """Whose token ended."""

    removed: str

    def words(self) -> str:
        return f"{self.removed} has no token any more."


def add_annotator(workspace: str, name: str) -> AnnotatorAdded:
    return AnnotatorAdded(name, Annotators(Workspace.open(workspace)).add(name))


def list_annotators(workspace: str) -> AnnotatorList:
    return AnnotatorList(Annotators(Workspace.open(workspace)).names())


def remove_annotator(workspace: str, name: str) -> AnnotatorRemoved:
    Annotators(Workspace.open(workspace)).remove(name)
    return AnnotatorRemoved(name)
