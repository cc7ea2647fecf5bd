"""The suite for samplers finds every kind of defect with the check that is meant for it, and says where it is."""

import itertools
import math
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.types import SAME, Answer, OutsideAnswer, Question
from cccount_dist.testing import SamplerCase, SamplerError, check_sampler, sampler_checks
from cccount_dist.testing.difference import first_difference

LABELS = np.array([0, 0, 0, 1, 1, 2, 2, 3])
ITEMS = list(range(7))  # item 7 must not be asked about
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-your-own-sampler.md"


class Pairs:
    """Every pair once, up to four at a time; which one is next follows from the answers. Memory and time O(pairs)."""

    unfinished = 4

    def __init__(self) -> None:
        self.left = list(itertools.combinations(ITEMS, 2))
        self.asked: list[Question] = []
        self.values: dict[int, float | None] = {}

    def ask(self, limit: int) -> list[Question]:
        new: list[Question] = []
        while len(new) < limit and self.left and len(self.asked) - len(self.values) < self.unfinished:
            new.append(self.question(len(self.asked), *self.left.pop(self.choice() % len(self.left))))
            self.asked.append(new[-1])
        return new

    def choice(self) -> int:
        return 7 * self.same + len(self.asked)

    @property
    def same(self) -> int:
        return sum(value == SAME for value in self.values.values())

    def question(self, number: int, u: int, v: int) -> Question:
        return Question(number, u, v)

    def tell(self, answers: Sequence[Answer]) -> None:
        self.values.update({answer.question_id: answer.value for answer in answers})

    def result(self) -> CountResult:
        answered = sum(value is not None for value in self.values.values())
        return CountResult(1.0 + self.same if answered else None, 1.0, 7.0, 0.95, 0, answered)

    @property
    def done(self) -> bool:
        return not self.left and len(self.values) == len(self.asked)


class FromOne(Pairs):
    def question(self, number: int, u: int, v: int) -> Question:
        return Question(number + 1, u, v)


class Itself(Pairs):
    def question(self, number: int, u: int, v: int) -> Question:
        return Question(number, u, u)


class Missing(Pairs):
    def question(self, number: int, u: int, v: int) -> Question:
        return Question(number, u, 7)


class NumpyNumbers(Pairs):
    def question(self, number: int, u: int, v: int) -> Question:
        return Question(number, np.int64(u), v)  # type: ignore[arg-type]


class OtherKind(Pairs):
    def question(self, number: int, u: int, v: int) -> Question:
        return Question(number, u, v, "rating")


class TooMany(Pairs):
    def ask(self, limit: int) -> list[Question]:
        return super().ask(limit + 1)


class CutPage(Pairs):
    def question(self, number: int, u: int, v: int) -> Question:
        return Question(number, u, v, page=0)

    def ask(self, limit: int) -> list[Question]:
        return super().ask(1)


class Unseeded(Pairs):
    def choice(self) -> int:
        return random.SystemRandom().randrange(100)


class Shared(Pairs):
    counted = 0

    def choice(self) -> int:
        Shared.counted += 1
        return Shared.counted


class CountsCalls(Pairs):
    """Asks otherwise after a call of `ask` in vain, which no log shows."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def ask(self, limit: int) -> list[Question]:
        self.calls += 1
        return super().ask(limit)

    def choice(self) -> int:
        return self.calls


class CountsTells(Pairs):
    """Asks otherwise if the same answers come in more calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def tell(self, answers: Sequence[Answer]) -> None:
        self.calls += 1
        super().tell(answers)

    def choice(self) -> int:
        return self.calls


class Deaf(Pairs):
    """Never takes the last of several answers in."""

    def tell(self, answers: Sequence[Answer]) -> None:
        super().tell(answers[:-1] if len(answers) > 2 else answers)


class CountsAnswers(Pairs):
    """Counts an answer that comes twice twice."""

    def __init__(self) -> None:
        super().__init__()
        self.heard = 0

    def tell(self, answers: Sequence[Answer]) -> None:
        self.heard += len(answers)
        super().tell(answers)

    def choice(self) -> int:
        return self.heard


class Stubborn(Pairs):
    """The first answer counts."""

    def tell(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            self.values.setdefault(answer.question_id, answer.value)


class UnsureIsDifferent(Pairs):
    def tell(self, answers: Sequence[Answer]) -> None:
        super().tell([replace(answer, value=answer.value or 0.0) for answer in answers])


class Stuck(Pairs):
    """Asks nothing after the tenth question, and is not done."""

    def ask(self, limit: int) -> list[Question]:
        return super().ask(min(limit, 10 - len(self.asked)))


class Peeked(Pairs):
    def __init__(self) -> None:
        super().__init__()
        self.looks = 0

    def result(self) -> CountResult:
        self.looks += 1
        return super().result()

    def choice(self) -> int:
        return self.looks


class AsksOn(Pairs):
    @property
    def done(self) -> bool:
        return len(self.asked) > 8


class Nothing(Pairs):
    def result(self) -> CountResult:
        if not self.values:
            raise ZeroDivisionError
        return super().result()


class NotANumber(Pairs):
    def result(self) -> CountResult:
        return replace(super().result(), high=float("nan"))


class Silent(Pairs):
    """Says nothing about what it takes: its base class does."""


class CountsPieces(Pairs):
    """Asks by how often it was told what is known."""

    pieces = 0

    def know(self, answers: Sequence[OutsideAnswer]) -> None:
        self.pieces += 1

    def choice(self) -> int:
        return super().choice() + self.pieces


DEFECTS = [
    ("questions", FromOne, r"question 1 \(0, 1\) '' came where question 0 was expected"),
    ("questions", Itself, "about one item"),
    ("questions", Missing, "item 7, which must not be asked about"),
    ("questions", NumpyNumbers, "Python's own int"),
    ("questions", OtherKind, "of kind 'rating'"),
    ("questions", TooMany, r"ask\(\d\) returned"),
    ("questions", CutPage, "page 0 was cut in two"),
    ("determinism", Unseeded, "in a second run, other questions are asked: expected question"),
    ("determinism", Shared, "other questions are asked"),
    ("replay", CountsCalls, "after a replay of"),
    ("batches", CountsCalls, "in pieces, other questions"),
    ("tells", CountsTells, "told one by one, other questions"),
    ("tells", Deaf, "told one by one"),
    ("retries", CountsAnswers, "told twice, other questions"),
    ("replaced", Stubborn, "was unsure first"),
    ("undo", Stubborn, "every answer was taken back, and the result counts"),
    ("unsure", UnsureIsDifferent, "nobody was sure of anything"),
    ("order", Stuck, "would wait for ever"),
    ("looking", Peeked, "looks at the result in between, other questions"),
    ("done", AsksOn, r"done is True, and question \d+ \(\d, \d\) '' is asked"),
    ("beginning", NotANumber, "not finite"),
    ("knowledge", CountsPieces, "told piece by piece, other questions"),
]


def case_of(sampler: type[Pairs], **options: bool) -> SamplerCase:
    return SamplerCase(sampler, LABELS, ITEMS, questions=20, own_closure=options.get("own_closure", False))


def test_a_good_sampler_passes() -> None:
    check_sampler(Pairs, LABELS, items=ITEMS)


@pytest.mark.parametrize(("name", "sampler", "message"), DEFECTS, ids=[f"{name}-{one.__name__}" for name, one, _ in DEFECTS])
def test_a_defect_is_found_and_named(name: str, sampler: type[Pairs], message: str) -> None:
    with pytest.raises(SamplerError, match=f"^{name}: .*{message}"):
        dict(sampler_checks())[name](case_of(sampler))


def test_who_promises_to_ask_nothing_implied_is_held_to_it() -> None:
    check = dict(sampler_checks())["implied"]
    check(case_of(Pairs))  # the closure answers for people
    with pytest.raises(SamplerError, match=r"^implied: question \d+ \(\d, \d\) '' is implied by the answers before it"):
        check(case_of(Pairs, own_closure=True))


def test_an_error_of_the_sampler_itself_comes_with_the_name_of_the_check() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        check_sampler(Nothing, LABELS, items=ITEMS)
    assert any("in the check" in note for note in caught.value.__notes__)


def test_one_sampler_for_all_is_no_new_one() -> None:
    one = Pairs()
    with pytest.raises(SamplerError, match="must return a new one"):
        dict(sampler_checks())["beginning"](SamplerCase(lambda: one, LABELS, ITEMS))


def test_costs_have_to_be_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    check = dict(sampler_checks())["costs"]
    check(case_of(Silent))  # its base class states them
    monkeypatch.setattr(Pairs, "__doc__", "Every pair once. Memory O(pairs), at all times.")
    with pytest.raises(SamplerError, match="does not say what time it takes"):
        check(case_of(Silent))


def test_differences_are_exact_and_name_their_place() -> None:
    assert first_difference(np.array([1.0, np.nan]), np.array([1.0, np.nan])) is None
    assert first_difference([1.0, float("nan")], [1.0, float("nan")]) is None
    assert first_difference(np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]])) == "result[1, 1] is 4, then 5"
    assert first_difference(np.zeros(2), np.zeros(3)) == "result is an array (2,) float64, then (3,) float64"
    one = CountResult(3.0, 1.0, 7.0, 0.95, 0, 4)
    assert first_difference(one, replace(one, high=math.nextafter(7.0, 8.0))) == "result.high is 7.0, then 7.000000000000001"
    assert first_difference(one, replace(one, details={"a": 1.0})) == "result.details has the keys [], then ['a']"
    assert first_difference(1, 1.0) == "result is 1, then 1.0"


# -- the page that teaches it ------------------------------------------------------------------------------------------


def blocks() -> list[str]:
    """The Python of the page, in order: the sampler, a check, the same with pytest, and how to register it."""
    return [part.split("```", 1)[0] for part in PAGE.read_text().split("```python\n")[1:]]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a reader has saved `birthday.py`."""
    (tmp_path / "birthday.py").write_text(blocks()[0])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "birthday", raising=False)
    return tmp_path


def test_the_sampler_of_the_page_passes_as_the_page_says(page: Path) -> None:
    module = ModuleType("reader")
    exec("\n".join(blocks()[1:3]), module.__dict__)
    for name, check in sampler_checks():
        module.__dict__["test_birthday"](name, check)


def test_the_sampler_of_the_page_counts(page: Path) -> None:
    scope: dict[str, type] = {}
    exec("from birthday import Birthday", scope)
    labels, found = np.arange(4000) % 20, []
    for seed in range(40):
        sampler = scope["Birthday"](range(4000), seed=seed)
        sampler.tell([Answer(q.id, q.u, q.v, float(labels[q.u] == labels[q.v])) for q in sampler.ask(2000)])
        found.append(sampler.result())
    assert sum(result.low <= 20 <= result.high for result in found) >= 33  # 38 expected; fewer than 33 once in 1,000
    assert np.mean([result.estimate for result in found]) == pytest.approx(20.0, rel=0.05)


def test_the_page_has_the_blocks_that_are_run_here() -> None:
    assert ["class Birthday:" in text for text in blocks()] == [True, False, False, False]
    assert "register_method(" in blocks()[3]


def test_nothing_in_the_package_rests_on_the_suite_and_the_suite_not_on_pytest() -> None:
    package = Path(__file__).parents[2] / "cccount_dist"
    outside = [path for path in package.rglob("*.py") if path.parent != package / "testing"]
    assert not [path for path in outside if "cccount_dist.testing" in path.read_text()]
    assert not [
        path for path in (package / "testing").glob("*.py") if re.search(r"^(import|from) pytest", path.read_text(), re.M)
    ]
