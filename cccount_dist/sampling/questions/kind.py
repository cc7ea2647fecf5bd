"""A kind of question as one object: how it is asked, shown, checked, logged, settled, simulated and inferred.

A new kind is a file with such an object, a JavaScript file that draws its sheet (`review/static/sheets.js` says what has to be in
it), and a call of `registry.register_question_kind`. Nothing here grows with the log or the collection.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cccount_dist.sampling.settling import MOST_PEOPLE, Reliability, Verdict, Vote, settle_by_majority
from cccount_dist.sampling.values import DIFFERENT, SAME
from storage.errors import InputError

_UNSURE = "unsure"  # in files; every kind of question may be answered so


class Settle(Protocol):
    """From the votes on one question, in their order, to what they amount to."""

    def __call__(
        self, votes: Sequence[Vote], overlap: int, reliability: Reliability, *, people: int = MOST_PEOPLE
    ) -> Verdict: ...


def _are_equal(first: object, second: object) -> float:
    return SAME if first == second else DIFFERENT


@dataclass(frozen=True, slots=True)
class QuestionKind:
    """One kind of question about two items. A value is a number in [0, 1], which the log keeps, or None for unsure.

    >>> kind = QuestionKind("order", "which of the two is older?", words={"first": 1.0, "second": 0.0}, sheet="order")
    >>> kind.takes, kind.read("second"), kind.write(1.0), kind.allows(0.5)
    ('1 (first), 0 (second)', 0.0, 'first', False)
    """

    name: str  # as the log keeps it
    help: str  # in one line, what is asked
    words: Mapping[str, float] = field(default_factory=dict)  # the values, as files write them; none: any number in [0, 1]
    also_read: Mapping[str, float] = field(default_factory=dict)  # other words that are understood
    returns: str = "a number in [0, 1] or None"  # what a function that stands for a person returns
    links: bool = False  # whether answers enter the closure: 1 joins the two items, 0 keeps them apart
    may_be_inferred: bool = False  # whether the closure may answer it
    is_shared: bool = False  # whether other campaigns take answers over, as links
    tells_about_people: bool = False  # whether answers show who misses a same, or says a false one: gold, repeats, agreement
    cell_by_cell: bool = False  # whether the cells of a page are judged one by one, not at a glance
    is_a_similarity: bool = False  # whether the cosine of two vectors can stand for an answer
    settle: Settle = settle_by_majority
    from_labels: Callable[[Any, Any], float | None] = _are_equal  # what the labels of the two items say
    sheet: str = "pair"  # how it is shown: the name under which a script has registered a sheet …
    page_sheet: str | None = None  # … and where several are shown together
    scripts: tuple[str | Path, ...] = ()  # that draw these sheets: files of the page by their name, others by their path

    def allows(self, value: float) -> bool:
        """Whether this can be an answer, unsure apart."""
        return value in self.words.values() if self.words else 0.0 <= value <= 1.0

    @property
    def takes(self) -> str:
        """What `allows` lets pass, for a sentence."""
        return ", ".join(f"{value:g} ({word})" for word, value in self.words.items()) or "a number from 0 to 1"

    def check(self, value: float | None, question_id: int) -> None:
        """Raise `InputError` unless the value can be an answer to a question of this kind."""
        if value is not None and not self.allows(value):
            raise InputError(f"question {question_id} takes {self.takes} or nothing (unsure), not {value}")

    def write(self, value: float | None) -> str:
        """Return a value as files have it: a word, or a number."""
        if value is None:
            return _UNSURE
        return next((word for word, meant in self.words.items() if meant == value), str(value))

    def read(self, text: str) -> float | None:
        """Return what a word or number of a file says; whether it is allowed is `check`'s to say."""
        known = {**self.also_read, **self.words}
        if text == _UNSURE or text in known:
            return known.get(text)
        try:
            return float(text)
        except ValueError as error:
            words = ", ".join([*self.words, _UNSURE])
            raise InputError(f"{text!r} is none of {words}, nor a number") from error

    def sheet_of(self, page: int | None) -> str:
        """Return the name of the sheet for a single question, or for one of a page."""
        return self.sheet if page is None or self.page_sheet is None else self.page_sheet
