"""The desks of a workspace's campaigns, opened when somebody first asks for them, and what they give in the form of the page.

A campaign that is started while the server runs is found at the next request. Memory: what the desks hold.
"""

import gc
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from cccount_dist.campaign.noun import read_noun
from cccount_dist.review.desk import Desk
from cccount_dist.review.items import Items
from cccount_dist.review.models import CampaignInfo, CandidateInfo, GivenAnswer, ItemInfo, Recent, RecentEntry, SheetInfo
from cccount_dist.review.pictures import Pictures
from cccount_dist.review.sheets import Answered, Sheet
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.questions.registry import QUESTION_KINDS
from cccount_dist.sampling.types import SAME
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.workspace import Workspace

_LOOK_AGAIN_SECONDS = 5.0
_RECENT = 10 * 24  # answers: ten pages


@contextmanager
def _for_good() -> Iterator[None]:
    """Tell Python's collector of cycles that what is made here stays: going through 100,000 answers again and again would make
    people wait a tenth of a second each time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


class Desks:
    """Desks by campaign, and the collection that all of them are about."""

    def __init__(self, workspace: Workspace, *, overlap: int = 1, gold: float = 0.03, repeats: float = 0.02) -> None:
        self.workspace = workspace
        self.items = Items(workspace)
        self.pictures = Pictures(self.items.uri, workspace.cache_folder())
        self._gold, self._repeats = gold, repeats
        self._overlap = overlap
        self._lock = threading.Lock()
        self._open: dict[str, Desk] = {}
        self._for_people: dict[
            str, tuple[bool, float]
        ] = {}  # campaign -> whether people answer it, and how long that is believed

    @property
    def collection(self) -> Collection:
        """What all campaigns are about, as it was read last."""
        return self.items.collection

    def has_moved(self, item: int) -> bool:
        """Whether an item's picture is somewhere else than it was when the collection was read; it is read again."""
        before = self.items.uri(item)
        return self.items.again().uri(item) != before

    def campaigns(self) -> list[CampaignInfo]:
        """The campaigns that people answer."""
        folders = [CampaignFolder(self.workspace, name) for name in self.workspace.campaigns()]
        for_people = [folder for folder in folders if folder.goal().oracle == "people"]
        return [campaign_info(folder) for folder in for_people]

    def warm(self) -> None:
        """Do now what would make the first person wait: read the logs, load the compiled closure."""
        Constraints().add(0, 1, SAME, "warm")
        for campaign in self.campaigns():
            self.desk(campaign.name)

    def desk(self, campaign: str) -> Desk | None:
        """The desk of a campaign that people answer; None if there is no such campaign."""
        with self._lock:
            if not self._is_for_people(campaign):
                return None
            desk = self._open.get(campaign)
            if desk is None:
                with _for_good():
                    desk = self._open[campaign] = Desk(
                        self.workspace,
                        campaign,
                        overlap=self._overlap,
                        gold=self._gold,
                        repeats=self._repeats,
                        items=self.items,
                    )
            return desk

    def _is_for_people(self, campaign: str) -> bool:
        """Whether people answer it; looked up again after some seconds, for a goal may change while the page is served."""
        now = time.monotonic()
        answered, until = self._for_people.get(campaign, (False, 0.0))
        if now >= until:
            there = campaign in self.workspace.campaigns()
            answered = there and CampaignFolder(self.workspace, campaign).goal().oracle == "people"
            if there:
                self._for_people[campaign] = (answered, now + _LOOK_AGAIN_SECONDS)
        return answered

    def close(self) -> None:
        self.pictures.close()
        with self._lock:
            for desk in self._open.values():
                desk.close()
            self._open.clear()

    def sheet(self, desk: Desk, sheet: Sheet, annotator: str) -> SheetInfo:
        """A sheet as the page shows it to somebody."""
        return SheetInfo(
            id=sheet.id,
            kind=shown_as(sheet.kind, len(sheet.candidates)),
            anchor=self.item(desk, sheet.anchor),
            candidates=[
                CandidateInfo(
                    question_id=c.question_id,
                    item=self.item(desk, c.item),
                    again=desk.asks_again(annotator, c.question_id, sheet.anchor, c.item),
                )
                for c in sheet.candidates
            ],
            expires_in=max(0.0, (sheet.expires_at - datetime.now(UTC)).total_seconds()),
        )

    def item(self, desk: Desk, number: int) -> ItemInfo:
        facts = desk.item(number)
        picture = None if facts.uri is None else self.workspace.uuid
        return ItemInfo(item=number, name=facts.id, group=facts.group, taken_at=facts.taken_at, picture=picture)

    def recent(self, desk: Desk, annotator: str) -> Recent:
        """What somebody answered last, put together again to the sheets on which it was shown."""
        looks = _looks(desk.recent(annotator, _RECENT))[:10]
        return Recent(entries=[self._entry(desk, look) for look in reversed(looks)])

    def _entry(self, desk: Desk, look: Sequence[Answered]) -> RecentEntry:
        first = look[0]
        sheet = SheetInfo(
            id=f"again-{first.answer_id}",
            kind=first.kind,
            anchor=self.item(desk, first.u),
            candidates=[CandidateInfo(question_id=row.question_id, item=self.item(desk, row.v)) for row in look],
            expires_in=0.0,
        )
        answers = [GivenAnswer(id=row.answer_id, question_id=row.question_id, value=row.value) for row in look]
        return RecentEntry(sheet=sheet, answers=answers, flagged=first.u if first.u == first.v else None)


def campaign_info(folder: CampaignFolder) -> CampaignInfo:
    """A campaign as the page knows it, with the user's words where there are some."""
    settings, goal = folder.settings(), folder.goal()
    noun = None if goal.noun is None else read_noun(goal.noun)
    words = None if noun is None else (noun.one, noun.many)
    return CampaignInfo(name=folder.name, kind=settings.kind, method=settings.method, noun=words, question=goal.question)


def shown_as(kind: str, candidates: int) -> str:
    """The kind of sheet that shows so many candidates: a page with one of them is a pair.

    >>> shown_as("grid", 1), shown_as("grid", 2), shown_as("marking", 1), shown_as("rating", 1)
    ('pair', 'grid', 'pair', 'rating')
    """
    pages = {one.page_sheet: one.sheet for one in QUESTION_KINDS if one.page_sheet is not None}
    return pages.get(kind, kind) if candidates == 1 else kind


def _looks(rows: Sequence[Answered]) -> list[list[Answered]]:
    """Answers that belong to one page together, the newest look first, each in the order in which it was answered."""
    looks: list[list[Answered]] = []
    for row in rows:
        if looks and row.page is not None and looks[-1][0].page == row.page:
            looks[-1].insert(0, row)
        else:
            looks.append([row])
    return looks
