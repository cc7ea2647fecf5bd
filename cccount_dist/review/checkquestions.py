"""Questions that tell about the annotator: gold ones, whose answer is known, repeats, and second votes.

Gold is a pair, or a page around one item, that a gold file or several people who agree have settled. Where there is none yet, a
question that one other person has answered is shown instead: a second vote, from which agreement is learnt and gold grows. Checks
are numbered outside the sampler's numbers and never reach it. Which sheet is a check follows from the annotator's name and the
number of the sheet alone. Time and memory: the settled questions that several people answered, and the gold file.
"""

import hashlib
import uuid
from collections.abc import Collection, Mapping, Sequence

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.ledger import GOLD, MOST_WEIGHED, REPEAT, LoggedAnswer, is_check
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.questions.same import SAME_QUESTION
from cccount_dist.sampling.reading import Reading
from cccount_dist.sampling.types import DIFFERENT, SAME
from storage.errors import InputError
from storage.gold import read_gold
from storage.handouts import Check, Handout, Handouts
from storage.workspace import Workspace

CHECKS_FROM = 1 << 40  # numbers of checks; far above any question, and still a whole number in JavaScript
_SUPPORT = 2  # people who agree, and nobody who differs, make a pair gold
_TRIES = 25


class Checks:
    """Makes checks for annotators, and knows the ones that it made."""

    def __init__(self, reading: Reading, handouts: Handouts, workspace: Workspace, *, gold: float, repeats: float) -> None:
        self._reading = reading
        self._handouts = handouts
        self._shares = gold, repeats
        self._truth = Constraints()
        self._pairs: list[tuple[int, int, float]] = []  # gold, in the order in which it became known
        self._voted: set[int] = set()  # questions whose votes have made gold
        self._single: dict[int, str] = {}  # question -> the only person who answered it
        self._own: dict[str, list[LoggedAnswer]] = {}  # what everybody answered, for repeats
        self._repeated: set[tuple[str, int, int]] = set()  # who was asked about which pair again
        self._second: dict[tuple[int, str], None] = {}  # second votes that are handed out
        table = read_gold(workspace)
        for u, v, value in zip(*(table.column(name).to_pylist() for name in ("u", "v", "value")), strict=True):
            self._add_gold(u, v, value, f"gold {u} {v}")

    def take(self, rows: Collection[LoggedAnswer]) -> None:
        """Learn from new answers which pairs are settled by several people, and what everybody has said."""
        ledger = self._reading.ledger
        for row in rows:
            if row.source == REPEAT:
                self._repeated.add((row.annotator, min(row.u, row.v), max(row.u, row.v)))
            if row.undoes is not None or row.source != "people" or row.value not in (SAME, DIFFERENT):
                continue
            if not question_kind(self._reading.questions[row.question_id].kind).tells_about_people:
                continue
            people = ledger.people(row.question_id)
            self._own.setdefault(row.annotator, []).append(row)
            if people == 1:
                self._single[row.question_id] = row.annotator
            else:
                self._single.pop(row.question_id, None)
            enough = _SUPPORT <= people <= MOST_WEIGHED and row.question_id not in self._voted
            if enough and len({vote.value for vote in ledger.votes(row.question_id)}) == 1:
                self._voted.add(row.question_id)
                self._add_gold(row.u, row.v, row.value, row.id)

    def next(self, annotator: str, holders: Mapping[int, Collection[str]]) -> Handout | None:
        """Return a check if this person's next sheet should be one and there is any."""
        number = self._handouts.count(annotator)
        draw = _fraction(annotator, number, "which")
        gold, repeats = self._shares
        if draw < gold:
            return self._gold(annotator, number) or self._second_vote(annotator, number, holders)
        if draw < gold + repeats:
            return self._repeat(annotator, number)
        return None

    def find(self, question_id: int, annotator: str) -> Check:
        """Return the check of this number; `InputError` if it was not made for this person."""
        check = self._handouts.check(question_id - CHECKS_FROM)
        if check is None or check.annotator != annotator:
            raise InputError(f"there is no question {question_id} for {annotator!r}")
        return check

    def wants(self, question_id: int, annotator: str) -> bool:
        """Whether this is a second vote that is handed out to this person."""
        return (question_id, annotator) in self._second and self._single.get(question_id) not in (None, annotator)

    def _gold(self, annotator: str, number: int) -> Handout | None:
        pages = self._reading.page_size
        if not self._pairs:
            return None
        for attempt in range(_TRIES):
            u, v, value = self._pairs[int(_fraction(annotator, number, f"gold {attempt}") * len(self._pairs))]
            if (annotator, min(u, v), max(u, v)) in self._reading.seen or {u, v} & self._reading.ledger.flagged:
                continue
            if pages == 1:
                return self._sheet(annotator, u, [(v, value)], page=None)
            if page := self._gold_page(u, v, value, annotator, number, pages):
                return self._sheet(annotator, u, page, page=-1 - number)
        return None

    def _gold_page(self, u: int, v: int, value: float, annotator: str, number: int, size: int) -> list[tuple[int, float]]:
        """Items that are known to be the same as `u`, at most one, or to be different; in an order that tells nothing."""
        page = {v: value}
        for attempt in range(8 * size):
            pair = self._pairs[int(_fraction(annotator, number, f"page {attempt}") * len(self._pairs))]
            other = pair[1] if attempt % 2 else pair[0]
            known = self._truth.known(u, other)
            if len(page) < size and other != u and other not in page and known == DIFFERENT:
                page[other] = known
        place = int(_fraction(annotator, number, "place") * len(page))
        rest = list(page.items())
        return rest[1 : place + 1] + rest[:1] + rest[place + 1 :]

    def _repeat(self, annotator: str, number: int) -> Handout | None:
        said = self._own.get(annotator, [])
        # The last answers are still in memory, a person's and the page's: at least half of what was said lies in between.
        old = said[: len(said) // 2]
        if not old:
            return None
        row = old[int(_fraction(annotator, number, "repeat") * len(old))]
        if self._reading.ledger.row(row.id) is None or {row.u, row.v} & self._reading.ledger.flagged:
            return None
        pair = annotator, min(row.u, row.v), max(row.u, row.v)
        if pair in self._repeated:
            return None  # nobody is asked three times what they think of two pictures
        self._repeated.add(pair)
        return self._sheet(annotator, row.u, [(row.v, None)], page=None)

    def _second_vote(self, annotator: str, number: int, holders: Mapping[int, Collection[str]]) -> Handout | None:
        others = [i for i, who in self._single.items() if who != annotator and not holders.get(i)]
        if not others:
            return None
        question = self._reading.questions[others[int(_fraction(annotator, number, "second") * len(others))]]
        if {question.u, question.v} & self._reading.ledger.flagged:
            return None
        self._second[question.id, annotator] = None
        kind = question_kind(question.kind)
        return Handout(uuid.uuid4().hex, annotator, 0.0, kind.sheet_of(question.page), question.u, ((question.id, question.v),))

    def _sheet(self, annotator: str, anchor: int, items: Sequence[tuple[int, float | None]], page: int | None) -> Handout:
        checks = [Check(annotator, anchor, item, page, REPEAT if value is None else GOLD[value]) for item, value in items]
        numbers = self._handouts.add_checks(checks)
        candidates = tuple((CHECKS_FROM + number, check.v) for number, check in zip(numbers, checks, strict=True))
        pages = question_kind(self._reading.page_kind)
        kind = pages if pages.tells_about_people else SAME_QUESTION  # a check looks like everything else
        return Handout(uuid.uuid4().hex, annotator, 0.0, kind.sheet_of(page), anchor, candidates)

    def _add_gold(self, u: int, v: int, value: float, answer_id: str) -> None:
        if self._truth.add(u, v, value, answer_id):
            self._pairs.append((u, v, value))


def _fraction(annotator: str, number: int, purpose: str) -> float:
    """Return a number in [0, 1) that follows from these alone."""
    digest = hashlib.blake2b(f"{annotator}\n{number}\n{purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2.0**64


__all__ = ["CHECKS_FROM", "Checks", "is_check"]
