"""The review server: HTTP around the desk. Only numbers and ids come from clients, never a path; every answer waits for the disk.

Work that touches disk or pixels runs in threads, so the event loop is free; nothing here runs a sampler. That a campaign needs
new questions is told to `Watcher`, and done elsewhere (`flows/review.py`).
"""

import logging
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib.resources import files
from typing import Annotated, Any, NamedTuple, Protocol

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Path, Query, Request, Response
from fastapi.encoders import jsonable_encoder
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from cccount_dist.campaign import Response as Answer
from cccount_dist.embedding.images import UnreadableImageError
from cccount_dist.review.browse import browsing
from cccount_dist.review.desk import Desk
from cccount_dist.review.desks import Desks
from cccount_dist.review.guard import Guard
from cccount_dist.review.images import Side
from cccount_dist.review.models import (
    AnswerBody,
    FlagBody,
    Nothing,
    Problem,
    ReceiptInfo,
    Recent,
    RejectionInfo,
    Session,
    Sheets,
    Token,
    UndoBody,
)
from cccount_dist.review.sheets import Receipt
from cccount_dist.review.signin import COOKIE, COOKIE_SECONDS, Door
from storage.errors import CccountError, ConflictError, InputError, StoreError

LOG = logging.getLogger("cccount.review")
MOST_ANSWERS = 200  # in one request
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_CampaignName = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
_REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 413, 415, 422, 429, 503)
}


class Watcher(Protocol):
    """Whoever keeps campaigns supplied with questions."""

    def answered(self, campaign: str, count: int) -> None:
        """New answers were stored."""

    def ran_short(self, campaign: str) -> None:
        """Somebody was given fewer sheets than they asked for."""


class Seat(NamedTuple):
    """Somebody at the desk of a campaign."""

    who: str
    desk: Desk


def make_app(desks: Desks, door: Door, watcher: Watcher) -> FastAPI:
    """Return the application."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        desks.close()

    app = FastAPI(title="cccount review", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.add_middleware(Guard, hosts=lambda: door.hosts)
    app.add_exception_handler(CccountError, _explain)
    app.include_router(_pages())
    app.include_router(_signing_in(desks, door))
    app.include_router(browsing(desks, door), responses=_REFUSED)
    app.include_router(_reviewing(desks, door, watcher))
    return app


def _pages() -> APIRouter:
    """The files of the page: a fixed list, read once."""
    router = APIRouter(include_in_schema=False)
    folder = files("cccount_dist.review") / "static"
    known = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}

    def served(name: str) -> Response:
        suffix = name[name.rfind(".") :]
        if name not in known or suffix not in _TYPES:
            raise HTTPException(404, "there is no such file")
        return Response(known[name], media_type=_TYPES[suffix], headers={"Cache-Control": "no-cache"})

    @router.get("/")
    async def review() -> Response:
        return served("index.html")

    @router.get("/progress")
    async def progress() -> Response:
        return served("progress.html")

    @router.get("/browse")
    async def browse() -> Response:
        return served("browse.html")

    @router.get("/static/{name}")
    async def static(name: str) -> Response:
        return served(name)

    return router


def _signing_in(desks: Desks, door: Door) -> APIRouter:
    router = APIRouter(prefix="/api", responses=_REFUSED)

    def session(annotator: str | None) -> Session:
        if annotator is None:
            return Session(annotator=None, login=True)
        return Session(annotator=annotator, login=not door.is_open, workspace=desks.workspace.uuid, campaigns=desks.campaigns())

    @router.get("/session")
    async def who_am_i(request: Request) -> Session:
        return await run_in_threadpool(lambda: session(door.who(request.cookies.get(COOKIE))))

    @router.post("/login")
    async def login(body: Token, request: Request, response: Response) -> Session:
        address = request.client.host if request.client else ""
        wait = door.attempts.wait(address)
        if wait > 0:
            raise HTTPException(429, "too many attempts: wait a minute", headers={"Retry-After": str(math.ceil(wait))})
        if door.is_open:
            return await run_in_threadpool(session, door.local)
        name = await run_in_threadpool(door.annotators.who, body.token)
        if name is None:
            door.attempts.failed(address)
            raise HTTPException(401, "nobody has this token")
        response.set_cookie(
            COOKIE, body.token, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=request.url.scheme == "https"
        )
        return await run_in_threadpool(session, name)

    @router.post("/logout")
    async def logout(_: Nothing, response: Response) -> Nothing:
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")
        return Nothing()

    return router


def _reviewing(desks: Desks, door: Door, watcher: Watcher) -> APIRouter:
    router = APIRouter(responses=_REFUSED)

    def somebody(request: Request) -> str:
        name = door.who(request.cookies.get(COOKIE))
        if name is None:
            raise HTTPException(401, "sign in first")
        return name

    def seat(request: Request, campaign: _CampaignName) -> Seat:
        name = somebody(request)
        desk = desks.desk(campaign)
        if desk is None:
            raise HTTPException(404, "there is no such campaign")
        return Seat(name, desk)

    Who = Annotated[str, Depends(somebody)]
    At = Annotated[Seat, Depends(seat)]

    @router.get("/api/{campaign}/sheets")
    async def sheets(campaign: _CampaignName, at: At, count: Annotated[int, Query(ge=1, le=64)] = 8) -> Sheets:
        def work() -> Sheets:
            found = [desks.sheet(at.desk, sheet) for sheet in at.desk.take(at.who, count)]
            return Sheets(sheets=found, state="running" if found else at.desk.state())

        given = await run_in_threadpool(work)
        if len(given.sheets) < count:
            watcher.ran_short(campaign)
        return given

    @router.post("/api/{campaign}/answers")
    async def answers(campaign: _CampaignName, body: list[AnswerBody], at: At) -> ReceiptInfo:
        if len(body) > MOST_ANSWERS:
            raise HTTPException(422, f"at most {MOST_ANSWERS} answers at once, not {len(body)}")
        given = [Answer(a.question_id, a.value, at.who, a.seconds, a.id) for a in body]
        return await _stored(campaign, lambda: at.desk.answer(at.who, given))

    @router.post("/api/{campaign}/undo")
    async def undo(campaign: _CampaignName, body: UndoBody, at: At) -> ReceiptInfo:
        return await _stored(campaign, lambda: at.desk.undo(at.who, body.answer_id, id=body.id))

    @router.post("/api/{campaign}/flag")
    async def flag(campaign: _CampaignName, body: FlagBody, at: At) -> ReceiptInfo:
        return await _stored(campaign, lambda: at.desk.flag(at.who, body.item, body.reason, id=body.id))

    async def _stored(campaign: str, work: Callable[[], Receipt]) -> ReceiptInfo:
        receipt = await run_in_threadpool(work)
        if receipt.stored:
            watcher.answered(campaign, len(receipt.stored))
        rejected = [RejectionInfo(id=r.id, reason=r.reason) for r in receipt.rejected]
        return ReceiptInfo(stored=receipt.stored, known=receipt.known, rejected=rejected)

    @router.get("/api/{campaign}/recent")
    async def recent(at: At) -> Recent:
        return await run_in_threadpool(desks.recent, at.desk, at.who)

    @router.get("/api/{campaign}/standing")
    async def standing(at: At) -> JSONResponse:
        return JSONResponse(await run_in_threadpool(lambda: jsonable_encoder(asdict(at.desk.standing()))))

    @router.get("/images/{item}", response_class=Response, responses={200: {"content": {"image/jpeg": {}, "image/png": {}}}})
    async def image(item: Annotated[int, Path(ge=0, le=2**53)], _: Who, side: Side = Side.MIDDLE) -> Response:
        if item >= desks.collection.items:
            raise HTTPException(404, "there is no such item")
        try:
            kind, data = await run_in_threadpool(desks.pictures.get, item, side)
        except UnreadableImageError as error:
            raise HTTPException(404, str(error)) from error
        # The address names the workspace, so what is kept is never another collection's picture.
        return Response(data, media_type=kind, headers={"Cache-Control": "private, max-age=86400"})

    return router


async def _explain(_: Request, error: Exception) -> JSONResponse:
    """Failures that we can explain. What is wrong with the disk is the operator's to read: it names places on the server."""
    if isinstance(error, InputError):
        return JSONResponse({"detail": str(error)}, 422)
    LOG.error("%s", error)
    if isinstance(error, StoreError | ConflictError):
        return JSONResponse({"detail": "it cannot be stored just now; the server's log says why"}, 503)
    return JSONResponse({"detail": "the workspace cannot be used; the server's log says why"}, 503)
