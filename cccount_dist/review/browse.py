"""Browsing subclusters in the browser: all of them on one page, and the ones that an item or any picture is most like.

A picture to search for comes as base64 in JSON, made small by the page; it is encoded here as the collection was, and not kept.
"""

import base64
import binascii
from typing import Annotated

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, HTTPException, Query
from pydantic import Field

from cccount_dist.kinds.subcluster.browse import Finder, Match, Shown, browsable, copies_among, read_subclusters
from cccount_dist.review.desks import Desks, campaign_info
from cccount_dist.review.models import CampaignName, Model, Text
from cccount_dist.review.signin import Door
from storage.campaigns import CampaignFolder
from storage.errors import InputError


class SheetPicture(Model):
    """An image on the sheet; `picture` names the collection that it is of, null if there is none to show."""

    item: int
    name: str
    checked: bool
    picture: str | None
    copy_of: str | None = None  # the name of a picture here whose file is the same, byte for byte


class Browsable(Model):
    """The campaigns that can be browsed."""

    campaigns: list[str]


class ContactSheet(Model):
    """The subclusters of a campaign, each with its centroid first; `noun`: what the user calls one, and many of them."""

    subclusters: list[list[SheetPicture]]
    noun: tuple[str, str] | None = None


class MatchInfo(Model):
    subcluster: int
    name: str
    similarity: float


class Matches(Model):
    """Subclusters that an image is most like, most similar first."""

    matches: list[MatchInfo]


class Wanted(Model):
    """A picture to search for, as base64."""

    image: Annotated[Text, Field(min_length=1, max_length=256 * 1024)]


def browsing(desks: Desks, door: Door) -> APIRouter:
    """Return the routes."""
    router = APIRouter()
    searching = CapacityLimiter(2)  # searches at once: each decodes and encodes a picture

    def folder_of(campaign: CampaignName) -> CampaignFolder:
        if campaign not in browsable(desks.workspace):
            raise HTTPException(404, "there is no such campaign to browse")
        return CampaignFolder(desks.workspace, campaign)

    signed_in = [Depends(door.somebody)]
    Folder = Annotated[CampaignFolder, Depends(folder_of)]

    @router.get("/api/browse", dependencies=signed_in)
    def campaigns() -> Browsable:
        return Browsable(campaigns=browsable(desks.workspace))

    @router.get("/api/{campaign}/subclusters", dependencies=signed_in)
    def subclusters(folder: Folder) -> ContactSheet:
        rows = read_subclusters(folder)
        copies = copies_among(desks.collection, rows)
        noun = campaign_info(folder).noun
        shown = [[_picture(desks, one, copies.get(one.item)) for one in row] for row in rows]
        return ContactSheet(subclusters=shown, noun=noun)

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
            return _matches(desks, finder.of_file(data))

        return await to_thread.run_sync(work, limiter=searching)

    return router


def _picture(desks: Desks, shown: Shown, copy_of: str | None) -> SheetPicture:
    picture = None if desks.collection.uri(shown.item) is None else desks.workspace.uuid
    return SheetPicture(item=shown.item, name=shown.id, checked=shown.checked, picture=picture, copy_of=copy_of)


def _matches(desks: Desks, found: list[Match]) -> Matches:
    ids = desks.collection.ids
    return Matches(matches=[MatchInfo(subcluster=one.subcluster, name=ids[one.item], similarity=one.similarity) for one in found])
