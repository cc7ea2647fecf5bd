"""Oracles: true labels, lies that depend on nothing but seed and question, functions of the caller."""

import numpy as np
import pytest

from cccount_dist.sampling.oracles import FunctionOracle, LabelOracle
from cccount_dist.sampling.types import Question
from storage.errors import InputError

LABELS = np.random.default_rng(0).integers(0, 4, 50)


def questions(count: int) -> list[Question]:
    pairs = np.random.default_rng(1).integers(0, 50, (count, 2)).tolist()
    return [Question(number, u, v) for number, (u, v) in enumerate(pairs)]


def test_labels_answer_truthfully_whatever_their_type() -> None:
    for labels in (LABELS, LABELS.astype(str), LABELS.astype(float), LABELS.astype(np.uint8)):
        oracle = LabelOracle(labels)
        assert [oracle.answer(q) for q in questions(100)] == [float(LABELS[q.u] == LABELS[q.v]) for q in questions(100)]


def test_lies_come_at_the_stated_rate_and_do_not_depend_on_the_order_of_questions() -> None:
    asked = questions(4000)
    oracle = LabelOracle(LABELS, error_rate=0.1, seed=7)
    lies = [oracle.answer(q) != float(LABELS[q.u] == LABELS[q.v]) for q in asked]
    # Binomial: 4 standard errors.
    assert abs(np.mean(lies) - 0.1) < 4 * np.sqrt(0.1 * 0.9 / 4000)
    again = LabelOracle(LABELS, error_rate=0.1, seed=7)
    assert [again.answer(q) != float(LABELS[q.u] == LABELS[q.v]) for q in reversed(asked)] == lies[::-1]
    other = LabelOracle(LABELS, error_rate=0.1, seed=8)
    assert [other.answer(q) != float(LABELS[q.u] == LABELS[q.v]) for q in asked] != lies


def test_an_error_rate_of_1_always_lies() -> None:
    oracle = LabelOracle(LABELS, error_rate=1.0)
    assert all(oracle.answer(q) == float(LABELS[q.u] != LABELS[q.v]) for q in questions(200))


def test_a_missing_label_is_an_unsure_answer() -> None:
    assert LabelOracle(np.array([0, -1])).answer(Question(0, 0, 1)) is None
    assert LabelOracle(np.array([np.nan, np.nan])).answer(Question(0, 0, 1)) is None


@pytest.mark.parametrize(
    ("labels", "error_rate", "seed", "message"),
    [(np.zeros((3, 2)), 0.0, 0, "shape"), (LABELS, 1.1, 0, "1.1"), (LABELS, float("nan"), 0, "nan"), (LABELS, 0.1, -1, "-1")],
)
def test_wrong_settings_are_refused(labels: np.ndarray, error_rate: float, seed: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LabelOracle(labels, error_rate=error_rate, seed=seed)


@pytest.mark.parametrize(
    ("returned", "value"),
    [(True, 1.0), (False, 0.0), (np.True_, 1.0), (np.False_, 0.0), (1, 1.0), (np.float32(0), 0.0), (None, None)],
)
def test_a_function_may_return_what_a_person_would_say(returned: object, value: float | None) -> None:
    assert FunctionOracle(lambda _u, _v: returned).answer(Question(0, 1, 2)) == value


def test_a_rating_is_a_number_between_0_and_1() -> None:
    oracle = FunctionOracle(lambda u, _v: u / 10)
    assert oracle.answer(Question(0, 3, 4, "rating")) == 0.3
    with pytest.raises(InputError, match=r"returned 1\.1 for items 11 and 4"):
        oracle.answer(Question(0, 11, 4, "rating"))


@pytest.mark.parametrize("returned", ["same", 0.3, 2, float("nan"), np.array([True, False]), [True]])
def test_a_function_that_returns_something_else_is_told_so(returned: object) -> None:
    with pytest.raises(InputError, match="for items 1 and 2: it must return True, False or None"):
        FunctionOracle(lambda _u, _v: returned).answer(Question(0, 1, 2))


def test_cells_of_a_sheet_are_missed_and_falsely_marked_one_by_one() -> None:
    """4 % misses and 1 % false marks, each cell by itself: counts within five standard deviations of the binomial."""
    labels = np.array([0, *([0] * 12), *([1] * 12)])
    oracle = LabelOracle(labels, error_rate=0.04, seed=3)
    pages = [[Question(24 * p + i, 0, 1 + i, "sheet", page=p) for i in range(24)] for p in range(1000)]
    said = np.array([oracle.answer_page(page) for page in pages])
    misses, false_marks = (said[:, :12] == 0).sum(), (said[:, 12:] == 1).sum()
    assert abs(misses - 480) < 5 * np.sqrt(12_000 * 0.04 * 0.96)
    assert abs(false_marks - 120) < 5 * np.sqrt(12_000 * 0.01 * 0.99)
    assert ((said[:, :12] == 0).sum(axis=1) == 1).any(), "a page may be right in some cells and wrong in others"


def test_a_function_with_a_page_answers_a_sheet_at_once() -> None:
    class Asked:
        calls = 0

        def __call__(self, u: int, v: int) -> bool:
            raise AssertionError

        def page(self, u: int, vs: list[int]) -> list[bool | None]:
            self.calls += 1
            return [None if v == 9 else v % 2 == u % 2 for v in vs]

    asked = Asked()
    page = [Question(i, 1, v, "sheet", page=0) for i, v in enumerate((3, 4, 9))]
    assert FunctionOracle(asked).answer_page(page) == [1.0, 0.0, None]
    assert asked.calls == 1
    asked.page = lambda u, vs: [True]  # type: ignore[method-assign]
    with pytest.raises(InputError, match="returned 1 answers for 3 items"):
        FunctionOracle(asked).answer_page(page)
