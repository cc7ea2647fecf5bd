"""The review server: HTTP around the desk. Only numbers and ids come from clients, never a path; every answer waits for the disk.

Work that touches disk or pixels runs in threads, so the event loop is free; nothing here runs a sampler. That a campaign needs
new questions is told to `Watcher`, and done elsewhere (`flows/serving/review.py`).
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Annotated, Any, NamedTuple, Protocol

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Path, Query, Request
from fastapi import Response as HttpResponse
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from cccount_dist.campaign.campaign import Response
from cccount_dist.embedding.images import UnreadableImageError
from cccount_dist.review.bell import Bell
from cccount_dist.review.browse import browsing
from cccount_dist.review.deciding import deciding
from cccount_dist.review.desk import Desk
from cccount_dist.review.desks import Desks
from cccount_dist.review.guard import Guard
from cccount_dist.review.individuals import individuals_router
from cccount_dist.review.models import (
    AnswerBody,
    CampaignName,
    FlagBody,
    Nothing,
    OutlookInfo,
    PointsInfo,
    Problem,
    ReceiptInfo,
    Recent,
    RejectionInfo,
    Session,
    Sheets,
    Token,
    UndoBody,
)
from cccount_dist.review.pace import Pace
from cccount_dist.review.pagefiles import page_files
from cccount_dist.review.pictures import BusyError, Picture, Side
from cccount_dist.review.points import shared_points
from cccount_dist.review.sheets import Receipt
from cccount_dist.review.signin import COOKIE, COOKIE_SECONDS, Door, address_of
from storage.errors import CccountError, ConflictError, InputError, StoreError

LOG = logging.getLogger("cccount.review")
MOST_ANSWERS = 200  # in one request
MOST_PICTURES = 64  # that one person waits for: a browser asks for six at a time
PICTURE_SECONDS = 60.0  # that somebody waits for one
_MOST_PROBLEMS, _LONGEST = 20, 200  # of a refused body, and characters of one
LONGEST_WAIT = 25.0  # seconds that a request for sheets is held: proxies give up after 30 or more
LOOK_EVERY = 2.0  # seconds between looks of a held request: questions of a `cccount advance` elsewhere ring no bell
SHARE_AFTER = 0.1  # seconds without a sheet after which somebody is given one that another person only holds
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 413, 415, 422, 429, 503)
}


class Watcher(Protocol):
    """Whoever keeps campaigns supplied with questions."""

    def answered(self, campaign: str, count: int) -> None:
        """New answers were stored."""

    def at_the_desk(self, campaign: str, people: int, missing: int) -> None:
        """So many people are answering, and lack so many sheets to the fewest with which nobody waits."""


class Seat(NamedTuple):
    """Somebody at the desk of a campaign."""

    who: str
    desk: Desk


def make_app(desks: Desks, door: Door, watcher: Watcher, bell: Bell | None = None) -> FastAPI:
    """Return the application. Whoever knows of new questions rings the bell."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        desks.close()

    app = FastAPI(title="cccount review", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_middleware(Guard, hosts=lambda: door.hosts)
    app.add_exception_handler(CccountError, _explain)
    app.add_exception_handler(RequestValidationError, _refuse)
    app.include_router(_pages())
    app.include_router(_signing_in(desks, door))
    app.include_router(browsing(desks, door), responses=_REFUSED)
    pace = Pace()
    app.include_router(individuals_router(desks, door, pace, watcher.answered), responses=_REFUSED)
    app.include_router(deciding(desks, door, pace, watcher.answered), responses=_REFUSED)
    app.include_router(_reviewing(desks, door, watcher, pace, bell or Bell()))
    return app


def _pages() -> APIRouter:
    """The files of the page: a fixed list, read once."""
    router = APIRouter(include_in_schema=False)
    known = page_files()

    def served(name: str) -> HttpResponse:
        suffix = name[name.rfind(".") :]
        if name not in known or suffix not in _TYPES:
            raise HTTPException(404, "there is no such file")
        return HttpResponse(known[name], media_type=_TYPES[suffix], headers={"Cache-Control": "no-cache"})

    @router.get("/")
    async def review() -> HttpResponse:
        return served("index.html")

    @router.get("/progress")
    async def progress() -> HttpResponse:
        return served("progress.html")

    @router.get("/browse")
    async def browse() -> HttpResponse:
        return served("browse.html")

    @router.get("/individuals")
    async def individuals() -> HttpResponse:
        return served("individuals.html")

    @router.get("/static/{name}")
    async def static(name: str) -> HttpResponse:
        return served(name)

    return router


def _signing_in(desks: Desks, door: Door) -> APIRouter:
    router = APIRouter(prefix="/api", responses=_REFUSED)

    def session(annotator: str | None) -> Session:
        if annotator is None:
            return Session(annotator=None, login=True)
        return Session(
            annotator=annotator, login=not door.is_open, lead=door.may_decide(annotator), workspace=desks.workspace.uuid,
            campaigns=desks.campaigns(),
        )  # fmt: skip

    @router.get("/session")
    async def who_am_i(request: Request, response: HttpResponse) -> Session:
        told = await run_in_threadpool(lambda: session(door.who(request.cookies.get(COOKIE))))
        if told.annotator is None and COOKIE in request.cookies:  # a token that was taken away: the browser may forget it
            door.attempts.failed(address_of(request))
            response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return told

    @router.post("/login")
    async def login(body: Token, request: Request, response: HttpResponse) -> Session:
        if door.is_open:
            return await run_in_threadpool(session, door.local)
        name = await run_in_threadpool(door.annotators.who, body.token)
        if name is None:
            raise door.refusal(address_of(request), "nobody has this token")
        response.set_cookie(
            COOKIE, body.token, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=request.url.scheme == "https"
        )
        return await run_in_threadpool(session, name)

    @router.post("/logout")
    async def logout(_: Nothing, response: HttpResponse) -> Nothing:
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return Nothing()

    return router


def _reviewing(desks: Desks, door: Door, watcher: Watcher, pace: Pace, bell: Bell) -> APIRouter:
    router = APIRouter(responses=_REFUSED)
    answering = CapacityLimiter(16)  # threads that take answers in, whatever the others are busy with
    looking: Counter[str] = Counter()  # pictures that everybody waits for

    def seat(request: Request, campaign: CampaignName) -> Seat:
        name = door.somebody(request)
        desk = desks.desk(campaign)
        if desk is None:
            raise HTTPException(404, "there is no such campaign")
        return Seat(name, desk)

    Who = Annotated[str, Depends(door.somebody)]
    At = Annotated[Seat, Depends(seat)]

    @router.get("/api/{campaign}/sheets")
    async def sheets(
        campaign: CampaignName,
        at: At,
        count: Annotated[int, Query(ge=1, le=64)] = 8,
        have: Annotated[int, Query(ge=0, le=64)] = 0,
        wait: Annotated[float, Query(ge=0.0, le=LONGEST_WAIT)] = 0.0,
    ) -> Sheets:
        def work(*, share: bool) -> Sheets:
            found = [desks.sheet(at.desk, sheet, at.who) for sheet in at.desk.take(at.who, count, share=share, have=have)]
            if found:
                return Sheets(sheets=found, state="running")
            # Where others have what is open, that is why there is nothing.
            why = None if at.desk.has_open else at.desk.hindrance()
            return Sheets(sheets=[], state=at.desk.state(), hindrance=why)

        async def look(*, share: bool = False) -> Sheets:
            given = await run_in_threadpool(work, share=share)
            watcher.at_the_desk(campaign, *at.desk.attendance())
            return given

        ends = time.monotonic() + wait
        listening = bell.listen(campaign, at.who)  # before the look: what comes meanwhile is heard
        try:
            given = await look()
            first = [sheet.id for sheet in given.sheets]
            pause = SHARE_AFTER
            while len(first) <= have and given.state in ("running", "waiting") and not bell.is_closed:
                if (left := ends - time.monotonic()) <= 0:
                    break
                empty = not given.sheets
                if await bell.heard(listening, min(left, pause if empty else LOOK_EVERY)):
                    bell.leave(campaign, at.who, listening)
                    listening = bell.listen(campaign, at.who)
                given = await look(share=empty)
                pause = LOOK_EVERY if empty else SHARE_AFTER
                if [sheet.id for sheet in given.sheets] != first and (given.sheets or empty):
                    break  # who has just answered their last one is not sent away before others' sheets were looked at
            return given
        finally:
            bell.leave(campaign, at.who, listening)

    @router.post("/api/{campaign}/answers")
    async def answers(campaign: CampaignName, body: list[AnswerBody], at: At) -> ReceiptInfo:
        if len(body) > MOST_ANSWERS:
            raise HTTPException(422, f"at most {MOST_ANSWERS} answers at once, not {len(body)}")
        given = [Response(a.question_id, a.value, at.who, a.seconds, a.id, clicks=a.clicks) for a in body]
        pace.hold_up(at.who, len(given))
        if changed := await to_thread.run_sync(at.desk.changes, at.who, given, limiter=answering):
            pace.hold_up(at.who, changed, changes=True)
        return await _stored(campaign, at.who, lambda: at.desk.answer(at.who, given, unseen=desks.pictures.lost))

    @router.post("/api/{campaign}/undo")
    async def undo(campaign: CampaignName, body: UndoBody, at: At) -> ReceiptInfo:
        pace.hold_up(at.who, 1, changes=True)
        return await _stored(campaign, at.who, lambda: at.desk.undo(at.who, body.answer_id, id=body.id))

    @router.post("/api/{campaign}/flag")
    async def flag(campaign: CampaignName, body: FlagBody, at: At) -> ReceiptInfo:
        pace.hold_up(at.who, 1, changes=True)
        return await _stored(campaign, at.who, lambda: at.desk.flag(at.who, body.item, body.reason, id=body.id))

    async def _stored(campaign: str, who: str, work: Callable[[], Receipt]) -> ReceiptInfo:
        receipt = await to_thread.run_sync(work, limiter=answering)
        if receipt.stored:
            watcher.answered(campaign, len(receipt.stored))
            bell.ring(campaign, who)  # they hold fewer sheets now, and may be given more
        rejected = [RejectionInfo(id=r.id, reason=r.reason) for r in receipt.rejected]
        return ReceiptInfo(stored=receipt.stored, known=receipt.known, rejected=rejected)

    @router.get("/api/{campaign}/recent")
    async def recent(at: At) -> Recent:
        return await run_in_threadpool(desks.recent, at.desk, at.who)

    @router.get("/api/{campaign}/outlook")
    async def outlook(at: At, empty: Annotated[bool, Query()] = False) -> OutlookInfo:  # noqa: FBT002
        return OutlookInfo(**asdict(await run_in_threadpool(lambda: at.desk.outlook(at.who, empty=empty))))

    @router.get("/api/{campaign}/standing")
    async def standing(at: At) -> JSONResponse:
        return JSONResponse(await run_in_threadpool(lambda: jsonable_encoder(asdict(at.desk.standing()))))

    @router.get("/api/{campaign}/points")
    async def points(
        at: At, first: Annotated[int, Query(ge=0, le=2**53)], second: Annotated[int, Query(ge=0, le=2**53)]
    ) -> PointsInfo:
        items = desks.items.with_item(max(first, second)).items
        known = max(first, second) < items
        found = await run_in_threadpool(shared_points, at.desk.folder.workspace, first, second) if known else None
        if found is None:
            raise HTTPException(404, "these pictures were not compared point by point: that is done by cccount matches")
        return PointsInfo(points=found)

    async def picture(item: int, side: Side) -> Picture:
        """It is looked for again where it may have moved to."""

        async def made() -> Picture:
            asked = asyncio.wrap_future(desks.pictures.ask(item, side))
            return await asyncio.wait_for(asyncio.shield(asked), PICTURE_SECONDS)

        try:
            return await made()
        except UnreadableImageError:
            if not await run_in_threadpool(desks.has_moved, item):
                raise
            return await made()

    @router.get("/images/{item}", response_class=HttpResponse, responses={200: {"content": {"image/jpeg": {}, "image/png": {}}}})
    async def image(item: Annotated[int, Path(ge=0, le=2**53)], who: Who, side: Side = Side.MIDDLE) -> HttpResponse:
        if item >= desks.items.with_item(item).items:
            raise HTTPException(404, "there is no such item")
        if looking[who] >= MOST_PICTURES:
            raise HTTPException(503, "too many pictures are asked for at once", headers={"Retry-After": "2"})
        looking[who] += 1
        try:
            kind, data = await picture(item, side)
        except UnreadableImageError as error:
            raise HTTPException(404, str(error)) from error
        except (BusyError, TimeoutError) as error:
            raise HTTPException(503, "the picture is not ready: try again", headers={"Retry-After": "2"}) from error
        finally:
            looking[who] -= 1
        # The address names the workspace, so what is kept is never another collection's picture.
        return HttpResponse(data, media_type=kind, headers={"Cache-Control": "private, max-age=86400"})

    return router


async def _refuse(_: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request, and never send back what came: it need not be text, nor a number that JSON has."""
    found = error.errors() if isinstance(error, RequestValidationError) else []
    told = [{"type": str(one["type"]), "loc": [_plain(part) for part in one["loc"]], "msg": _plain(one["msg"])} for one in found]
    return JSONResponse({"detail": told[:_MOST_PROBLEMS]}, 422)


def _plain(value: object) -> str | int:
    return value if isinstance(value, int) else str(value)[:_LONGEST].encode("ascii", "backslashreplace").decode()


async def _explain(_: Request, error: Exception) -> JSONResponse:
    """Failures that we can explain. What is wrong with the disk is the operator's to read: it names places on the server."""
    if isinstance(error, InputError):
        return JSONResponse({"detail": str(error)}, 422)
    LOG.error("%s", error)
    if isinstance(error, StoreError | ConflictError):
        return JSONResponse({"detail": "it cannot be stored just now; the server's log says why"}, 503)
    return JSONResponse({"detail": "the workspace cannot be used; the server's log says why"}, 503)
