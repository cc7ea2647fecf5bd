"""Individuals in the browser: the gallery, one individual with all its pictures, and corrections by hand.

A listing costs the collection and the answers, so one is made at a time, and nobody waits for more than a few. Corrections go the
way of every answer: durable before they are acknowledged, and in the log of the campaign; where labels answer, people do not.
"""

import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, HTTPException, Path
from pydantic import Field

from cccount_dist.campaign.sidesread import sides_of
from cccount_dist.individuals.census import GROUPED, LONGEST_NAME, LONGEST_NOTE, Census, Individuals
from cccount_dist.individuals.roster import Individual, encounters_of
from cccount_dist.individuals.sides import UNKNOWN, set_side
from cccount_dist.review.desks import Desks, campaign_info
from cccount_dist.review.models import CampaignName, EventId, Model, Number, Text
from cccount_dist.review.pace import Pace
from cccount_dist.review.signin import Door
from storage.campaigns import CampaignFolder
from storage.errors import InputError

T = TypeVar("T")
_MOST = 5000  # pictures, or individuals, in one correction
_MOST_WAITING = 4  # requests of one person: a page has one or two
_ANSWERS_OF_A_CHANGE = 20  # a correction of many pictures writes many answers, and counts for as many changes of mind


class IndividualInfo(Model):
    """A card of the gallery; `picture` names the collection that the key picture is of, null if there is none to show."""

    individual: int
    name: str | None
    note: str | None
    photos: int
    encounters: int
    first_seen: datetime | None
    last_seen: datetime | None
    places: list[str]
    sides: list[str]
    key_item: int
    key_photo: str
    picture: str | None
    checked: int
    sure: str
    checked_by: list[str]
    against: int
    known: bool


class Gallery(Model):
    """Everybody. `complete`: every picture was grouped, and not only those that a count drew. `sides_apart`: pictures of
    different sides were not compared, so one that was seen from both may be here twice."""

    campaign: str
    noun: tuple[str, str] | None
    individuals: list[IndividualInfo]
    no_animals: int
    ungrouped: int
    complete: bool
    sides_apart: bool


class PictureInfo(Model):
    item: int
    name: str
    taken_at: datetime | None
    place: str | None
    side: str | None
    checked: bool
    picture: str | None


class Portrait(Model):
    """One individual with its pictures, an encounter after the other."""

    about: IndividualInfo
    encounters: list[list[PictureInfo]]


class WithGroups(Model):
    """The campaigns that have groups."""

    campaigns: list[str]


class CorrectionBody(Model):
    """Something that a person says by hand. Whoever says it makes the id, so that a retry counts once."""

    id: EventId
    action: Literal["name", "note", "merge", "split", "move", "confirm", "no-animal", "side", "undo"]
    individual: Number | None = None
    others: list[Number] = Field(default_factory=list, max_length=_MOST)
    pictures: list[Number] = Field(default_factory=list, max_length=_MOST)
    text: Annotated[Text, Field(max_length=max(LONGEST_NAME, LONGEST_NOTE))] = ""
    undoes: EventId | None = None


class CorrectionInfo(Model):
    """What was stored, and the individual to look at now; null where there is none."""

    id: str
    individual: int | None


class _Open:
    """The individuals of the campaigns that somebody has looked at."""

    def __init__(self, desks: Desks) -> None:
        self._desks = desks
        self._lock = threading.Lock()
        self._known: dict[str, Individuals] = {}

    def names(self) -> list[str]:
        return [name for name in self._desks.workspace.campaigns() if self._has_groups(name)]

    def _has_groups(self, campaign: str) -> bool:
        results = f"campaigns/{campaign}/results"
        there = set(self._desks.workspace.objects.keys(results))
        return any(f"{results}/{spec.name}.parquet" in there for spec in GROUPED)

    def get(self, campaign: str) -> Individuals:
        with self._lock:
            if campaign not in self._known:
                if campaign not in self.names():
                    raise HTTPException(404, "there is no such campaign with groups")
                self._known[campaign] = Individuals(CampaignFolder(self._desks.workspace, campaign))
            return self._known[campaign]


class _Turns:
    """One piece of work at a time, whoever asks: so people who answer meanwhile do not wait for it."""

    def __init__(self) -> None:
        self._one = CapacityLimiter(1)
        self._waiting: Counter[str] = Counter()

    async def take(self, who: str, work: Callable[[], T]) -> T:
        """Do it in a thread when it is its turn; one person cannot fill the queue."""
        if self._waiting[who] >= _MOST_WAITING:
            raise HTTPException(503, "too much is asked for at once", headers={"Retry-After": "2"})
        self._waiting[who] += 1
        try:
            return await to_thread.run_sync(work, limiter=self._one)
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who]


def individuals_router(desks: Desks, door: Door, pace: Pace, answered: Callable[[str, int], None]) -> APIRouter:
    """Return the routes; `answered` is told of corrections, so that the campaign takes them in."""
    router = APIRouter()
    opened, turns = _Open(desks), _Turns()
    Who = Annotated[str, Depends(door.somebody)]

    @router.get("/api/individuals")
    async def campaigns(who: Who) -> WithGroups:
        return WithGroups(campaigns=await turns.take(who, opened.names))

    @router.get("/api/{campaign}/individuals")
    async def gallery(campaign: CampaignName, who: Who) -> Gallery:
        return await turns.take(who, lambda: _gallery(desks, opened.get(campaign)))

    @router.get("/api/{campaign}/individuals/{individual}")
    async def portrait(campaign: CampaignName, individual: Annotated[int, Path(ge=0, le=2**53)], who: Who) -> Portrait:
        return await turns.take(who, lambda: _portrait(desks, opened.get(campaign), individual))

    @router.post("/api/{campaign}/individuals")
    async def correct(campaign: CampaignName, body: CorrectionBody, who: Who) -> CorrectionInfo:
        pace.hold_up(who, changes=True)

        def work() -> CorrectionInfo:
            of = opened.get(campaign)
            if of.folder.goal().oracle != "people":
                raise InputError("labels answer in this campaign: people correct it with `cccount individuals`, and not here")
            told, shown = _corrected(of, body, who)
            pace.spend(who, of.answers_of(told) // _ANSWERS_OF_A_CHANGE)
            return CorrectionInfo(id=told, individual=shown)

        done = await turns.take(who, work)
        answered(campaign, 1)
        return done

    return router


def _gallery(desks: Desks, of: Individuals) -> Gallery:
    census = of.census()
    return Gallery(
        campaign=census.campaign,
        noun=campaign_info(of.folder).noun,
        individuals=[_card(desks, census, one) for one in census.individuals],
        no_animals=len(census.no_animals),
        ungrouped=census.ungrouped,
        complete=census.complete,
        sides_apart=sides_of(of.folder) is not None,
    )


def _portrait(desks: Desks, of: Individuals, individual: int) -> Portrait:
    census = of.census()
    one = next((one for one in census.individuals if one.individual == individual), None)
    if one is None:
        raise HTTPException(404, "there is no such individual")
    checked, sides = frozenset(one.checked_items), of.workspace.collection().sides()
    shown = [
        [_picture(desks, census, item, sides[item], checked=item in checked) for item in run]
        for run in encounters_of(one.items, census.facts)
    ]
    return Portrait(about=_card(desks, census, one), encounters=shown)


def _corrected(of: Individuals, body: CorrectionBody, who: str) -> tuple[str, int | None]:
    """Do what a body says; return its id, and whom to show now."""
    number = body.individual
    if body.action == "undo":
        if body.undoes is None:
            raise InputError("an undo needs the id of what it takes back")
        return of.undo(body.undoes, annotator=who, undo_id=body.id), number
    if body.action == "no-animal":
        if len(body.pictures) != 1:
            raise InputError("mark the one picture that shows no animal")
        return of.not_an_animal(body.pictures[0], annotator=who, id=body.id), number
    if body.action == "side":
        set_side(of.workspace, body.pictures, None if body.text == UNKNOWN else body.text)
        return body.id, number
    if number is None:
        raise InputError(f"{body.action} needs an individual")
    if body.action == "name":
        return of.name(number, body.text, annotator=who, id=body.id), number
    if body.action == "note":
        return of.note(number, body.text, annotator=who, id=body.id), number
    if body.action == "merge":
        return of.merge(number, body.others, annotator=who, id=body.id), number
    if body.action == "split":
        return of.split(number, body.pictures, annotator=who, id=body.id), number
    if body.action == "confirm":
        return of.confirm(number, annotator=who, id=body.id), number
    if len(body.pictures) != 1:
        raise InputError("mark the one picture that shows somebody else")
    return of.move(body.pictures[0], number, annotator=who, id=body.id), number


def _card(desks: Desks, census: Census, one: Individual) -> IndividualInfo:
    return IndividualInfo(
        individual=one.individual,
        name=one.name,
        note=one.note,
        photos=one.photos,
        encounters=one.encounters,
        first_seen=one.first_seen,
        last_seen=one.last_seen,
        places=list(one.places),
        sides=list(one.sides),
        key_item=one.key_item,
        key_photo=census.facts.ids[one.key_item],
        picture=_collection_of(desks, one.key_item),
        checked=len(one.checked_items),
        sure=one.sure,
        checked_by=list(one.checked_by),
        against=one.against,
        known=one.known,
    )


def _picture(desks: Desks, census: Census, item: int, side: str | None, *, checked: bool) -> PictureInfo:
    return PictureInfo(
        item=item,
        name=census.facts.ids[item],
        taken_at=census.facts.when(item),
        place=census.facts.places[item],
        side=side,
        checked=checked,
        picture=_collection_of(desks, item),
    )


def _collection_of(desks: Desks, item: int) -> str | None:
    return None if desks.items.with_item(item).uri(item) is None else desks.workspace.uuid


__all__ = ["individuals_router"]
