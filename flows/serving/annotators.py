"""`cccount annotators`: who may answer on the review page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cccount_dist.campaign.outcome import Outcome
from cccount_dist.review.annotators import Annotators
from storage.errors import InputError
from storage.reading import read_regular, reason
from storage.tokens import ANNOTATOR, LEAD
from storage.workspace import Workspace


@dataclass(frozen=True, slots=True)
class AnnotatorAdded(Outcome):
    """A new token; only a hash of it is kept. None: it came from a file, and is not shown."""

    annotator: str
    token: str | None
    role: str = ANNOTATOR

    def words(self) -> str:
        who = self.annotator if self.role == ANNOTATOR else f"{self.annotator} ({self.role})"
        if self.token is None:
            return f"{who} signs in with the token of the file."
        return f"The token of {who}, which is shown only now: {self.token}"


@dataclass(frozen=True, slots=True)
class RoleGiven(Outcome):
    """What somebody is from now on."""

    annotator: str
    role: str

    def words(self) -> str:
        more = ": decides contradictions on the page" if self.role == LEAD else ""
        return f"{self.annotator} is {'a lead' if self.role == LEAD else 'an annotator'}{more}."


@dataclass(frozen=True, slots=True)
class AnnotatorList(Outcome):
    """Who has a token."""

    annotators: Sequence[str]
    leads: Sequence[str]

    def words(self) -> str:
        names = [f"{name} ({LEAD})" if name in self.leads else name for name in self.annotators]
        return "\n".join(names) or "Nobody has a token yet."


@dataclass(frozen=True, slots=True)
class AnnotatorRemoved(Outcome):
    """Whose token ended."""

    removed: str

    def words(self) -> str:
        return f"{self.removed} has no token any more."


def add_annotator(workspace: str, name: str, token_file: str | None = None, role: str = ANNOTATOR) -> AnnotatorAdded:
    annotators = Annotators(Workspace.open(workspace))
    if token_file is None:
        return AnnotatorAdded(name, annotators.add(name, role=role), role)
    try:
        token = read_regular(Path(token_file)).decode().strip()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read --token-file {token_file}: {reason(error)}") from error
    annotators.add(name, token, role)
    return AnnotatorAdded(name, None, role)


def list_annotators(workspace: str) -> AnnotatorList:
    roles = Annotators(Workspace.open(workspace)).roles()
    return AnnotatorList(list(roles), [name for name, role in roles.items() if role == LEAD])


def give_role(workspace: str, name: str, role: str) -> RoleGiven:
    Annotators(Workspace.open(workspace)).set_role(name, role)
    return RoleGiven(name, role)


def remove_annotator(workspace: str, name: str) -> AnnotatorRemoved:
    Annotators(Workspace.open(workspace)).remove(name)
    return AnnotatorRemoved(name)
