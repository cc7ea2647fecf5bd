"""Browsing subclusters in the browser: all of them on one page, and the ones that an item or any picture is most like.

A picture to search for comes as base64 in JSON, made small by the page; it is encoded here as the collection was, and not kept.
"""

import base64
import binascii
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from cccount_dist.embedding.images import decode
from cccount_dist.review.desks import Desks
from cccount_dist.review.signin import COOKIE, Door
from cccount_dist.subclustering.browse import Finder, Match, Shown, read_subclusters
from storage.campaigns import CampaignFolder
from storage.errors import InputError

_CampaignName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class SheetPicture(_Model):
    """An image on the sheet; `picture` names the collection that it is of, null if there is none to show."""

    item: int
    name: str
    checked: bool
    picture: str | None


class Browsable(_Model):
    """The campaigns that can be browsed."""

    campaigns: list[str]


class ContactSheet(_Model):
    """The subclusters of a campaign, each with its centroid first."""

    subclusters: list[list[SheetPicture]]


class MatchInfo(_Model):
    subcluster: int
    name: str
    similarity: float


class Matches(_Model):
    """Subclusters that an image is most like, most similar first."""

    matches: list[MatchInfo]


class Wanted(_Model):
    """A picture to search for, as base64."""

    image: Annotated[str, Field(min_length=1, max_length=256 * 1024)]


def browsing(desks: Desks, door: Door) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    def somebody(request: Request) -> None:
        if door.who(request.cookies.get(COOKIE)) is None:
            raise HTTPException(401, "sign in first")

    def folder_of(campaign: _CampaignName) -> CampaignFolder:
        if campaign not in _browsable(desks):
            raise HTTPException(404, "there is no such campaign to browse")
        return CampaignFolder(desks.workspace, campaign)

    signed_in = [Depends(somebody)]
    Folder = Annotated[CampaignFolder, Depends(folder_of)]

    @router.get("/api/browse", dependencies=signed_in)
    def campaigns() -> Browsable:
        return Browsable(campaigns=_browsable(desks))

    @router.get("/api/{campaign}/subclusters", dependencies=signed_in)
    def subclusters(folder: Folder) -> ContactSheet:
        return ContactSheet(subclusters=[[_picture(desks, shown) for shown in row] for row in read_subclusters(folder)])

    @router.get("/api/{campaign}/nearest", dependencies=signed_in)
    def nearest_to_item(folder: Folder, item: Annotated[str, Query(min_length=1, max_length=1000)]) -> Matches:
        return _matches(desks, Finder(desks.workspace, read_subclusters(folder)).of_item(item))

    @router.post("/api/{campaign}/nearest", dependencies=signed_in)
    async def nearest_to_picture(folder: Folder, body: Wanted) -> Matches:
        def work() -> Matches:
            try:
                data = base64.b64decode(body.image, validate=True)
            except binascii.Error as error:
                raise InputError("the image is not base64") from error
            finder = Finder(desks.workspace, read_subclusters(folder))
            return _matches(desks, finder.of_picture(decode(data)))

        return await run_in_threadpool(work)

    return router


def _browsable(desks: Desks) -> list[str]:
    names = desks.workspace.campaigns()
    return [name for name in names if CampaignFolder(desks.workspace, name).settings().kind == "subcluster"]


def _picture(desks: Desks, shown: Shown) -> SheetPicture:
    there = desks.collection.uri(shown.item) is not None
    return SheetPicture(item=shown.item, name=shown.id, checked=shown.checked, picture=desks.workspace.uuid if there else None)


def _matches(desks: Desks, found: list[Match]) -> Matches:
    ids = desks.collection.ids
    return Matches(matches=[MatchInfo(subcluster=one.subcluster, name=ids[one.item], similarity=one.similarity) for one in found])
