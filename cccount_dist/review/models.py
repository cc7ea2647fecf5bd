"""What goes over HTTP: the JSON of the review page, declared once. `app.py` fills these from what the desk gives.

Numbers that a client sends are bounded here, before anything else looks at them.
"""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _is_text(value: str) -> str:
    """JSON can hold half of a character, which nothing else can: no file, no log, no digest."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError("it ends in the middle of a character") from error
    return value


Text = Annotated[str, AfterValidator(_is_text)]
EventId = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")]
CampaignName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Number = Annotated[int, Field(ge=0, le=2**53)]  # larger ones are no exact numbers in JavaScript


class Model(BaseModel):
    """What goes between a page and the server, and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Token(Model):
    token: Annotated[Text, Field(min_length=1, max_length=200)]


class Nothing(Model):
    """A body without content."""


class PointsInfo(Model):
    """Points that two pictures share: x, y in the first and x, y in the second, as shares of their width and height."""

    points: list[tuple[float, float, float, float]]


class CampaignInfo(Model):
    """A campaign that people answer. `noun` is what is counted, for one and for many; null: the user gave no word."""

    name: str
    kind: str
    method: str
    noun: tuple[str, str] | None = None
    question: str | None = None


class Session(Model):
    """Who is asking; `annotator` is null, and nothing else is told, until somebody signed in."""

    annotator: str | None
    login: bool
    lead: bool = False  # decides contradictions
    workspace: str = ""
    campaigns: list[CampaignInfo] = []


class ItemInfo(Model):
    """An item as a reviewer sees it. `picture` names the collection that the picture is of, null if there is none."""

    item: int
    name: str
    group: str | None
    taken_at: datetime | None
    picture: str | None


class CandidateInfo(Model):
    question_id: int
    item: ItemInfo
    again: bool = False  # this person has answered the pair before, and is told so


class SheetInfo(Model):
    id: str
    kind: str  # of the sheets that the page has registered: pair, grid, rating, …
    anchor: ItemInfo
    candidates: list[CandidateInfo]
    expires_in: float


class Sheets(Model):
    """What to show next; `state` says why there is nothing when there is nothing."""

    sheets: list[SheetInfo]
    state: str
    hindrance: str | None = None  # why nothing new is asked until somebody has run a command


class OutlookInfo(Model):
    """How far a campaign is; `why` and `seconds` say why there is nothing to answer, and for how long at most."""

    answers: int
    expected: int | None
    state: str
    why: str | None = None
    seconds: float | None = None


class AnswerBody(Model):
    """1 same, 0 different, a rating in [0, 1], null unsure. The client makes the id, and sends the same one again if in doubt."""

    id: EventId
    question_id: Number
    value: Annotated[float, Field(ge=0.0, le=1.0)] | None
    seconds: Annotated[float, Field(ge=0.0, le=3600.0)] = 0.0
    clicks: Annotated[int, Field(ge=0, le=10_000)] | None = None  # that a cell of a sheet took


class UndoBody(Model):
    id: EventId
    answer_id: Annotated[Text, Field(min_length=1, max_length=200)]  # of an imported answer, too


class FlagBody(Model):
    id: EventId
    item: Number
    reason: Annotated[Text, Field(min_length=1, max_length=200)]


class RejectionInfo(Model):
    id: str
    reason: str


class ReceiptInfo(Model):
    stored: list[str]
    known: list[str]
    rejected: list[RejectionInfo]


class GivenAnswer(Model):
    id: str
    question_id: int
    value: float | None


class RecentEntry(Model):
    """A sheet that was answered, as it was shown; or an item that was flagged, on a sheet of its own."""

    sheet: SheetInfo
    answers: list[GivenAnswer]
    flagged: int | None = None


class Recent(Model):
    """The last sheets that this person answered and did not take back, the newest last."""

    entries: list[RecentEntry]


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str | list[dict[str, Any]]
