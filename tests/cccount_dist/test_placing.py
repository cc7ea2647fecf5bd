"""Placing: the partition is exact, the sampler deterministic, replayable and honest about what it does not know."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import FunctionOracle, LabelOracle
from cccount_dist.sampling.types import Answer, Question
from storage.errors import InputError
from tests.cccount_dist.samplers import Labels, answered, blobs

VECTORS, LABELS = blobs((9, 7, 5, 4, 3, 2, 1, 1, 1))
ITEMS = len(LABELS)


def sampler(vectors: NDArray[np.float32] = VECTORS, *, seed: int = 0, grid: int = 1, lanes: int = 1) -> PlacingSampler:
    return PlacingSampler(vectors, np.zeros(len(vectors)), seed=seed, grid=grid, lanes=lanes)


def run(one: PlacingSampler, questions: int, labels: Labels = LABELS, step: int = 1) -> list[Question]:
    """Ask and answer; stop when so many questions were asked, or none is left."""
    asked: list[Question] = []
    while len(asked) < questions and (new := one.ask(min(step, questions - len(asked)))):
        asked += new
        one.tell(answered(list(new), labels))
    return asked


@settings(max_examples=25, deadline=None)
@given(
    labels=st.lists(st.integers(0, 6), min_size=2, max_size=40),
    seed=st.integers(0, 5),
    grid=st.sampled_from([1, 4, 24]),
    lanes=st.integers(1, 5),
)
def test_without_wrong_answers_the_partition_is_exact(labels: list[int], seed: int, grid: int, lanes: int) -> None:
    truth = np.array(labels)
    vectors = blobs((len(labels),), seed=seed)[0]
    one = sampler(vectors, seed=seed, grid=grid, lanes=lanes)
    run(one, 10_000, truth, step=7)
    assert one.done
    found = one.result()
    assert found.estimate == found.low == found.high == found.certain_low == len(set(labels))
    assert sorted(len(set(truth[members].tolist())) for members in one.partition()) == [1] * len(set(labels))


def test_a_certain_lower_bound_never_exceeds_the_truth_on_the_way() -> None:
    one = sampler()
    while run(one, 5):
        found = one.result()
        assert found.certain_low <= 9
        assert found.low <= (found.estimate or found.low) <= found.high


@pytest.mark.parametrize(("grid", "lanes"), [(1, 1), (8, 1), (1, 4), (8, 3)])
def test_batches_do_not_change_what_is_asked(grid: int, lanes: int) -> None:
    whole, cut = sampler(grid=grid, lanes=lanes), sampler(grid=grid, lanes=lanes)
    for _ in range(12):
        expected = list(whole.ask(9))
        pieces = [question for limit in (2, 0, 3, 4) for question in cut.ask(limit)]
        assert pieces == expected
        for one in (whole, cut):
            one.tell(answered(expected, LABELS))


@pytest.mark.parametrize("lanes", [1, 4])
def test_a_log_replayed_to_any_prefix_goes_on_the_same(lanes: int) -> None:
    first = sampler(lanes=lanes)
    asked = run(first, 90, step=2)
    for stop in (0, 1, 17, 44, 90):
        again = sampler(lanes=lanes)
        assert run(again, stop, step=2) == asked[:stop]
        assert run(again, 90 - stop, step=2) == asked[stop:]
        assert again.result() == first.result()


def test_when_answers_are_told_does_not_matter_only_their_order() -> None:
    one, two = sampler(lanes=4), sampler(lanes=4)
    for _ in range(30):
        asked = list(one.ask(4))
        assert list(two.ask(4)) == asked
        one.tell(answered(asked, LABELS))
        for question in asked:
            two.tell(answered([question], LABELS))
            two.result()
    assert one.result() == two.result()


def test_a_growing_budget_goes_on_from_where_it_stood() -> None:
    small, large = sampler(), sampler()
    drive(small, LabelOracle(LABELS), budget=20)
    drive(small, LabelOracle(LABELS), budget=20)
    drive(large, LabelOracle(LABELS), budget=40)
    assert small.result() == large.result()


def test_the_items_counted_are_the_first_of_the_random_order_however_many_are_under_way() -> None:
    slow, wide = sampler(lanes=1), sampler(lanes=6)
    run(slow, 60)
    while wide.result().anchors < slow.result().anchors:
        run(wide, 1)
    # The same items in the same partition: only the questions that led there differ.
    assert wide.result().certain_low == slow.result().certain_low
    assert wide.result().estimate == slow.result().estimate


@pytest.mark.parametrize("grid", [1, 6])
def test_an_answer_taken_back_counts_as_if_it_had_never_been_given(grid: int) -> None:
    lying, honest = sampler(grid=grid), sampler(grid=grid)
    asked = run(lying, 40)
    wrong = asked[11]
    truth = answered([wrong], LABELS)[0]
    lying.tell([Answer(wrong.id, wrong.u, wrong.v, 1.0 - (truth.value or 0.0))])
    run(lying, 5)
    lying.tell([truth])
    run(lying, 10_000)
    run(honest, 10_000)
    assert lying.result().estimate == honest.result().estimate == 9


def test_unsure_is_asked_once_more_and_never_counts_as_different() -> None:
    one = sampler()
    unknown = {int(item) for item in np.flatnonzero(LABELS == 0)[:2]}

    def say(u: int, v: int) -> bool | None:
        return None if unknown & {u, v} else bool(LABELS[u] == LABELS[v])

    tally = drive(one, FunctionOracle(say), budget=3000, items=ITEMS)
    found = one.result()
    assert tally.unsure > 0
    assert found.details["items_set_aside"] == 2
    assert found.certain_low == 9
    assert found.low <= 9 <= found.high


def test_nothing_but_unsure_answers_gives_no_estimate() -> None:
    one = sampler()
    drive(one, FunctionOracle(lambda _u, _v: None), budget=200)
    assert one.result().estimate is None
    assert (one.result().low, one.result().high) == (1.0, ITEMS)


def test_items_without_a_vector_are_not_counted() -> None:
    degree = np.zeros(ITEMS)
    degree[LABELS == 0] = np.nan
    vectors = VECTORS.copy()
    vectors[LABELS == 0] = np.nan
    one = PlacingSampler(vectors, degree)
    run(one, 10_000)
    assert one.result().estimate == 8


def test_a_page_holds_one_item_against_many_and_its_number_is_its_first_question() -> None:
    one = sampler(blobs((1,) * 40)[0], grid=24)
    labels = np.arange(40)
    asked = run(one, 10_000, labels, step=24)
    pages: dict[int, list[Question]] = {}
    for question in asked:
        if question.page is not None:
            pages.setdefault(question.page, []).append(question)
    assert pages
    for number, page in pages.items():
        assert number == page[0].id
        assert len(page) <= 24
        assert len({question.u for question in page}) == 1
    assert one.result().estimate == 40


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: sampler(grid=25), "1 to 24"),
        (lambda: sampler(lanes=0), "at least 1 item"),
        (lambda: sampler(seed=-1), "seed"),
        (lambda: sampler(VECTORS[:1]), "at least 2 items"),
        (lambda: sampler().tell([Answer(0, 0, 1, 1.0)]), "only the questions 0 to -1"),
    ],
)
def test_what_cannot_be_is_refused_by_name(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        wrong()
