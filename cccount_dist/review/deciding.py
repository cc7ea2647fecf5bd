"""Contradictions are decided on the progress page, by a lead: corrections by hand, which stand above what people answered."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException

from cccount_dist.individuals.census import Individuals
from cccount_dist.review.desks import Desks
from cccount_dist.review.models import CampaignName, EventId, Model, Number
from cccount_dist.review.pace import Pace
from cccount_dist.review.signin import Door
from storage.campaigns import CampaignFolder


class DecisionBody(Model):
    """Two pictures are one individual, or two. Whoever says it makes the id, so that a retry counts once."""

    id: EventId
    u: Number
    v: Number
    same: bool


class TakenBack(Model):
    """The decision that holds no more."""

    id: EventId
    undoes: EventId


class Decided(Model):
    """What was stored."""

    id: str


def deciding(desks: Desks, door: Door, pace: Pace, answered: Callable[[str, int], None]) -> APIRouter:
    """Return the routes; decisions have a `pace`, as corrections have, and `answered` is told of them."""
    router = APIRouter()

    def lead(who: Annotated[str, Depends(door.somebody)]) -> str:
        if not door.may_decide(who):
            raise HTTPException(403, "a lead decides contradictions: `cccount annotators role WORKSPACE NAME lead` makes one")
        return who

    def lead_in_time(who: Annotated[str, Depends(lead)]) -> str:
        pace.hold_up(who, changes=True)
        return who

    def individuals_of(campaign: CampaignName, _: Annotated[str, Depends(lead)]) -> Individuals:
        if campaign not in desks.workspace.campaigns():
            raise HTTPException(404, "there is no such campaign")
        return Individuals(CampaignFolder(desks.workspace, campaign))

    Lead = Annotated[str, Depends(lead_in_time)]
    Of = Annotated[Individuals, Depends(individuals_of)]

    @router.post("/api/{campaign}/decisions")
    def decide(body: DecisionBody, of: Of, who: Lead) -> Decided:
        told = of.decide(body.u, body.v, body.same, annotator=who, id=body.id)
        answered(of.folder.name, 1)
        return Decided(id=told)

    @router.post("/api/{campaign}/decisions/undo")
    def take_back(body: TakenBack, of: Of, who: Lead) -> Decided:
        told = of.undo(body.undoes, annotator=who, undo_id=body.id)
        answered(of.folder.name, 1)
        return Decided(id=told)

    return router


__all__ = ["deciding"]
