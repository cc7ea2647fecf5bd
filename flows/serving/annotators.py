"""`cccount annotators`: who may answer on the review page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.review.annotators import Annotators
from storage.errors import InputError
from storage.reading import read_regular, reason
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class AnnotatorAdded(Outcome):
    """A new token; only a hash of it is kept. None: it came from a file, and is not shown."""

    annotator: str
    token: str | None

    def words(self) -> str:
        if self.token is None:
            return f"{self.annotator} signs in with the token of the file."
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


def add_annotator(workspace: str, name: str, token_file: str | None = None) -> AnnotatorAdded:
    annotators = Annotators(Workspace.open(workspace))
    if token_file is None:
        return AnnotatorAdded(name, annotators.add(name))
    try:
        token = read_regular(Path(token_file)).decode().strip()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read --token-file {token_file}: {reason(error)}") from error
    annotators.add(name, token)
    return AnnotatorAdded(name, None)


def list_annotators(workspace: str) -> AnnotatorList:
    return AnnotatorList(Annotators(Workspace.open(workspace)).names())


def remove_annotator(workspace: str, name: str) -> AnnotatorRemoved:
    Annotators(Workspace.open(workspace)).remove(name)
    return AnnotatorRemoved(name)
