"""Individuals in the browser: the gallery, one individual with all its pictures, and corrections by hand.

A listing costs the collection and the answers. Corrections go the way of every answer: durable before they are acknowledged, and
in the log of the campaign.
"""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, HTTPException, Path
from pydantic import Field

from cccount_dist.individuals.census import GROUPED, LONGEST_NAME, LONGEST_NOTE, Census, Individuals
from cccount_dist.individuals.roster import Individual, encounters_of
from cccount_dist.review.desks import Desks, campaign_info
from cccount_dist.review.models import CampaignName, EventId, Model, Number, Text
from cccount_dist.review.signin import Door
from storage.campaigns import CampaignFolder
from storage.errors import InputError

_MOST = 5000  # pictures, or individuals, in one correction


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
    """Everybody. `complete`: every picture was grouped, and not only those that a count drew."""

    campaign: str
    noun: tuple[str, str] | None
    individuals: list[IndividualInfo]
    no_animals: int
    ungrouped: int
    complete: bool


class PictureInfo(Model):
    item: int
    name: str
    taken_at: datetime | None
    place: str | None
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
    action: Literal["name", "note", "merge", "split", "move", "confirm", "no-animal", "undo"]
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


def individuals_router(desks: Desks, door: Door, answered: Callable[[str, int], None]) -> APIRouter:
    """Return the routes; `answered` is told of corrections, so that the campaign takes them in."""
    router = APIRouter()
    opened = _Open(desks)

    def individuals_of(campaign: CampaignName, _: Annotated[str, Depends(door.somebody)]) -> Individuals:
        return opened.get(campaign)

    Who = Annotated[str, Depends(door.somebody)]
    Of = Annotated[Individuals, Depends(individuals_of)]

    @router.get("/api/individuals")
    def campaigns(_: Who) -> WithGroups:
        return WithGroups(campaigns=opened.names())

    @router.get("/api/{campaign}/individuals")
    def gallery(of: Of) -> Gallery:
        census = of.census()
        return Gallery(
            campaign=census.campaign,
            noun=campaign_info(of.folder).noun,
            individuals=[_card(desks, census, one) for one in census.individuals],
            no_animals=len(census.no_animals),
            ungrouped=census.ungrouped,
            complete=census.complete,
        )

    @router.get("/api/{campaign}/individuals/{individual}")
    def portrait(of: Of, individual: Annotated[int, Path(ge=0, le=2**53)]) -> Portrait:
        census = of.census()
        one = next((one for one in census.individuals if one.individual == individual), None)
        if one is None:
            raise HTTPException(404, "there is no such individual")
        checked = frozenset(one.checked_items)
        shown = [
            [_picture(desks, census, item, checked=item in checked) for item in run]
            for run in encounters_of(one.items, census.facts)
        ]
        return Portrait(about=_card(desks, census, one), encounters=shown)

    @router.post("/api/{campaign}/individuals")
    def correct(body: CorrectionBody, of: Of, who: Who) -> CorrectionInfo:
        told, shown = _corrected(of, body, who)
        answered(of.folder.name, 1)
        return CorrectionInfo(id=told, individual=shown)

    return router


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


def _picture(desks: Desks, census: Census, item: int, *, checked: bool) -> PictureInfo:
    return PictureInfo(
        item=item,
        name=census.facts.ids[item],
        taken_at=census.facts.when(item),
        place=census.facts.places[item],
        checked=checked,
        picture=_collection_of(desks, item),
    )


def _collection_of(desks: Desks, item: int) -> str | None:
    return None if desks.items.with_item(item).uri(item) is None else desks.workspace.uuid


__all__ = ["individuals_router"]
