"""The desks of a workspace's campaigns, opened when somebody first asks for them, and what they give in the form of the page.

A campaign that is started while the server runs is found at the next request. Memory: what the desks hold.
"""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime

from cccount_dist.review.desk import Desk
from cccount_dist.review.images import Pictures
from cccount_dist.review.models import CampaignInfo, CandidateInfo, GivenAnswer, ItemInfo, Recent, RecentEntry, SheetInfo
from cccount_dist.review.sheets import Answered, Sheet
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.types import SAME
from storage.campaigns import CampaignFolder
from storage.collection import Collection
from storage.workspace import Workspace

_RECENT = 10 * 24  # answers: ten pages


class Desks:
    """Desks by campaign, and the collection that all of them are about."""

    def __init__(self, workspace: Workspace, *, overlap: int = 1, gold: float = 0.03, repeats: float = 0.02) -> None:
        self.workspace = workspace
        self.collection: Collection = workspace.collection()
        self.pictures = Pictures(self.collection.uri)
        self._gold, self._repeats = gold, repeats
        self._overlap = overlap
        self._lock = threading.Lock()
        self._open: dict[str, Desk] = {}

    def campaigns(self) -> list[CampaignInfo]:
        """The campaigns that people answer."""
        folders = [CampaignFolder(self.workspace, name) for name in self.workspace.campaigns()]
        for_people = [(folder, folder.settings()) for folder in folders if folder.goal().oracle == "people"]
        return [CampaignInfo(name=folder.name, kind=found.kind, method=found.method) for folder, found in for_people]

    def warm(self) -> None:
        """Do now what would make the first person wait: read the logs, load the compiled closure."""
        Constraints().add(0, 1, SAME, "warm")
        for campaign in self.campaigns():
            self.desk(campaign.name)

    def desk(self, campaign: str) -> Desk | None:
        """The desk of a campaign; None if there is no such campaign."""
        with self._lock:
            desk = self._open.get(campaign)
            if desk is None and campaign in self.workspace.campaigns():
                desk = self._open[campaign] = Desk(
                    self.workspace, campaign, overlap=self._overlap, gold=self._gold, repeats=self._repeats
                )
            return desk

    def close(self) -> None:
        with self._lock:
            for desk in self._open.values():
                desk.close()
            self._open.clear()

    def sheet(self, desk: Desk, sheet: Sheet) -> SheetInfo:
        """A sheet as the page shows it."""
        return SheetInfo(
            id=sheet.id,
            kind=sheet.kind,
            anchor=self.item(desk, sheet.anchor),
            candidates=[CandidateInfo(question_id=c.question_id, item=self.item(desk, c.item)) for c in sheet.candidates],
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


def _looks(rows: Sequence[Answered]) -> list[list[Answered]]:
    """Answers that belong to one page together, the newest look first, each in the order in which it was answered."""
    looks: list[list[Answered]] = []
    for row in rows:
        if looks and row.page is not None and looks[-1][0].page == row.page:
            looks[-1].insert(0, row)
        else:
            looks.append([row])
    return looks
