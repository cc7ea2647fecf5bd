"""What people said about pictures in all campaigns of a workspace: answers, corrections by hand, catalogues, what is no animal.

A campaign reads its own log; what was corrected by hand in another one holds here, too, before the next step has taken it over.
Memory and time: the answers of the campaign, and the corrections of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.campaign.campaign import Campaign
from cccount_dist.clustering.respecting import respecting
from cccount_dist.clustering.result import numbered
from cccount_dist.individuals.roster import Said
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.ledger import (
    EPOCH,
    INFERRED,
    OUTSIDE,
    LoggedAnswer,
    fact_error,
    is_check,
    is_correction,
    is_firm,
    is_flag,
)
from cccount_dist.sampling.ledger import NO_ANIMAL as FLAGGED
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.collection import Collection
from storage.individuals import read_known_pairs
from storage.workspace import Workspace

NO_ANIMAL = "not an animal"


@dataclass(frozen=True, slots=True)
class Spoken:
    """What was said, ready for the pure modules."""

    answers: list[Said]
    links: Constraints  # what holds, corrections above answers
    by_hand: set[int]  # pictures that a correction or a catalogue names
    no_animals: set[int]
    sides: list[str | None] | None = None  # that pictures show, where some do


def spoken(workspace: Workspace, campaign: Campaign, others: Sequence[Campaign]) -> Spoken:
    """Gather what was said about the pictures of a campaign."""
    ledger, questions = campaign.ledger, campaign.questions
    own = ledger.rows()
    corrections = [(row.at or 0, name, row) for name, rows in [(campaign.name, own), *((o.name, o.ledger.rows()) for o in others)]
                   for row in rows if is_correction(row.source)]  # fmt: skip
    corrections.sort(key=lambda one: one[0])  # stable: rows of one correction stay together
    flags = {row.u for rows in [own, *(other.ledger.rows() for other in others)] for row in rows if row.source == FLAGGED}
    said = [
        Said(row.u, row.v, float(row.value or 0.0), row.annotator)
        for row in own
        if _is_said(row) and (row.question_id == OUTSIDE or question_kind(questions[row.question_id].kind).links)
    ]
    links, by_hand = Constraints(), set()
    held = ledger.constraints
    for u, v, value, name in [*held.links(), *((c.u, c.v, c.value, c.answer_id) for c in held.conflicts)]:
        row = ledger.row(name)
        if not name.startswith(f"{EPOCH}-") and (row is None or not is_firm(row.source)):
            links.note(u, v, value, name)
    for number, pair in enumerate(read_known_pairs(workspace).to_pylist()):
        if pair["error"] is not None:  # a fact that may be wrong: what people said before it stands
            links.note(pair["u"], pair["v"], pair["value"], f"fact/{number}")
            continue
        said.append(Said(pair["u"], pair["v"], pair["value"], pair["origin"], by_hand=True))
        links.note(pair["u"], pair["v"], pair["value"], f"known/{number}", firm=True)
        by_hand |= {pair["u"], pair["v"]}
    for u, v in of_one_file(workspace.collection()):
        links.note(u, v, SAME, f"file/{u}", firm=True)
    for _, name, row in corrections:
        said.append(Said(row.u, row.v, float(row.value or 0.0), row.annotator, by_hand=True))
        links.note(row.u, row.v, float(row.value or 0.0), f"{name}/{row.id}", firm=True)
        by_hand |= {row.u, row.v}
    sides = workspace.collection().sides()
    return Spoken(said, links, by_hand, flags, sides if any(sides) else None)


def of_one_file(collection: Collection) -> list[tuple[int, int]]:
    """Items of one file that show different sides: a picture of both sides shows one animal."""
    first: dict[str, int] = {}
    found = []
    sides = collection.sides()
    for item, uri in enumerate(collection.table.column("uri").to_pylist() if any(sides) else ()):
        if uri is not None and sides[item] is not None:
            before = first.setdefault(uri, item)
            if sides[before] != sides[item]:
                found.append((before, item))
    return found


def answers_about(workspace: Workspace, campaign: Campaign, others: Sequence[Campaign]) -> list[Said]:
    """Return what people said about pairs of pictures: answers of the campaign, corrections of all, catalogues."""
    return spoken(workspace, campaign, others).answers


def _is_said(row: LoggedAnswer) -> bool:
    """Whether a person, or who stands for one, said that two pictures are the same or differ."""
    by_somebody = row.is_vote and row.source != INFERRED and not is_check(row.source) and not is_flag(row.source)
    sure = not is_firm(row.source) and fact_error(row.source) is None
    return by_somebody and sure and row.value in (SAME, DIFFERENT)


def kept_to(labels: NDArray[np.int64], items: int, heard: Spoken) -> NDArray[np.int64]:
    """Return the groups with what people said respected; pictures that only a correction puts somewhere are there, too.

    `items`: how many there are now; those that came after the labels belong to no group yet.
    """
    found = np.full(items, -1, np.int64)
    found[: min(len(labels), items)] = labels[:items]
    said = [(u, v, value) for u, v, value, _ in heard.links.links() if max(u, v) < items]
    across = [link for link in said if heard.sides and heard.sides[link[0]] != heard.sides[link[1]]]
    links = [link for link in said if link not in set(across)] if across else said
    fresh = int(found.max(initial=-1)) + 1
    for item in sorted({item for u, v, value in links if value == SAME for item in (u, v)} & heard.by_hand):
        if found[item] < 0:
            found[item] = fresh
            fresh += 1
    sure = [(u, v, value) for u, v, value in links if found[u] >= 0 and found[v] >= 0]
    return numbered(_with_sides_joined(respecting(found, sure, corrected=True), across))


def _with_sides_joined(labels: NDArray[np.int64], across: Sequence[tuple[int, int, float]]) -> NDArray[np.int64]:
    """Return the groups with those joined of which two pictures of different sides show one animal: each group as a whole.

    Groups that somebody said are two animals stay two, whatever joins them. Time: the links, and the items once.
    """
    root = {int(label): int(label) for label in np.unique(labels[labels >= 0])}

    def find(label: int) -> int:
        while root[label] != label:
            label = root[label]
        return label

    both = [(int(labels[u]), int(labels[v]), value) for u, v, value in across if labels[u] >= 0 and labels[v] >= 0]
    apart = [(a, b) for a, b, value in both if value != SAME]
    for a, b in ((find(a), find(b)) for a, b, value in both if value == SAME):
        if a != b and not any({find(c), find(d)} == {a, b} for c, d in apart):
            root[max(a, b)] = min(a, b)
    return np.array([find(label) if label >= 0 else -1 for label in labels.tolist()], np.int64)


__all__ = ["NO_ANIMAL", "Spoken", "answers_about", "kept_to", "spoken"]
