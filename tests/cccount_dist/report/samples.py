"""Reports to try: a finished count, and what to change in it."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cccount_dist.campaign.effort import Effort, PersonsTotal
from cccount_dist.report.facts import CollectionFacts, CountFacts, Estimate, JudgedPair, Thumbnail
from storage.settings import Goal, Settings

DOT = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABc3UBGAAAAABJRU5ErkJggg=="
SETTINGS = Settings(
    kind="count", method="nis", seed=7, level=0.95, metric="cosine", items=1797, started_at="2026-11-16T08:00:00+00:00",
    version="0.1.0", parameters={}, fingerprints={"embeddings": "b2" * 32, "degree": "a1" * 32},
)  # fmt: skip
COLLECTION = CollectionFacts(1797, 0, [], "hog", 900, 10, has_images=True)


def pair(question_id: int, value: float | None, first: str = "a.png", second: str = "b.png") -> JudgedPair:
    return JudgedPair(question_id, value, Thumbnail(first, DOT), Thumbnail(second, DOT))


COUNTED = CountFacts(
    campaign="census",
    settings=SETTINGS,
    goal=Goal(2000, "labels"),
    collection=COLLECTION,
    estimates=[Estimate(256, 14.9, 1.0, 29.0), Estimate(1000, 10.7, 8.8, 12.5), Estimate(2000, 9.94, 8.9, 11.04)],
    effort=Effort(pairs=2000, free=219, people=(PersonsTotal("labels", 2000),)),
    unsure=0,
    contradictions=0,
    pending=0,
    exact=None,
    pairs=[pair(3, 1.0), pair(5, 0.0), pair(9, None)],
    version="0.1.0",
    written_at=datetime(2026, 11, 16, 8, 30, tzinfo=UTC),
)


def counted(**changes: Any) -> CountFacts:
    """The finished count, with some facts changed; `goal`, `settings`, `collection` and `effort` take a dict of their own."""
    parts = [name for name in ("goal", "settings", "collection", "effort") if name in changes]
    inner = {name: replace(getattr(COUNTED, name), **changes.pop(name)) for name in parts}
    return replace(COUNTED, **inner, **changes)
