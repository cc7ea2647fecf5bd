"""Questions that lie ready for many people: there are enough, one by one they are what they were, and counts stay right."""

from collections.abc import Callable
from itertools import groupby

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.clustering.methods import GroupingInputs, make_grouper
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.errorrates import EXACT, GivenRates
from cccount_dist.sampling.types import Answer, Question, Sampler, WithdrawnAnswer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from tests.cccount_dist.samplers import blobs, enough

VECTORS, LABELS = blobs((30, 25, 20, 18, 15, 12, 10, 10, 8, 8, 6, 6, 5, 4, 3, 2, 1, 1), noise=0.9)
GROUPERS = ("evidence", "apc", "hacc")


def grouper(method: str, **parameters: int) -> Sampler[object]:
    found = neighbors_in_memory(VECTORS, 20)
    clusters = len(set(LABELS.tolist())) if method == "hacc" else None
    return make_grouper(method, GroupingInputs(VECTORS, found.index, found.similarity, 1, clusters, parameters))


def placing(lanes: int) -> PlacingSampler:
    return PlacingSampler(VECTORS, np.zeros(len(LABELS)), seed=1, lanes=lanes)


def answered(sampler: Sampler[object], labels: NDArray[np.int64], answers: int, ready: int) -> list[Question]:
    """Keep so many questions ready, answer those about what was begun first, as at the desk, and return all that were asked."""
    waiting: list[Question] = []
    asked: list[Question] = []
    first: dict[int, int] = {}
    for _ in range(answers):
        asked += (new := sampler.ask(ready - len(waiting)))
        waiting += new
        if not waiting:
            break
        for question in new:
            first.setdefault(question.u, question.id)
        question = min(waiting, key=lambda one: (first[one.u] if one.is_vote else one.id, one.id))
        waiting.remove(question)
        sampler.tell([Answer(question.id, question.u, question.v, float(labels[question.u] == labels[question.v]))])
    return asked


@pytest.mark.parametrize("make", [*(lambda name=name: grouper(name, open=512) for name in GROUPERS), lambda: placing(lanes=512)],
                         ids=[*GROUPERS, "placing"])  # fmt: skip
def test_thirty_questions_lie_ready_for_ten_people_from_the_first_answer_on(make: Callable[[], Sampler[object]]) -> None:
    """Before: 16 at most, and 1 to 5 after a while."""
    sampler = make()
    assert len({(q.u, q.v) for q in sampler.ask(30)}) == 30
    sampler = make()
    asked = answered(sampler, LABELS, 60, 30)
    assert len(asked) == 60 + 29, "each answer was followed by a question"


@pytest.mark.parametrize("method", GROUPERS)
def test_asked_one_by_one_the_questions_are_those_that_they_were(method: str) -> None:
    one, other = (answered(grouper(method, open=most), LABELS, 40, 1) for most in (16, 512))
    assert one == other


def test_with_one_question_at_a_time_few_items_are_under_way_however_many_may_be() -> None:
    """The next item is begun before it is wanted, so that what is begun follows from the log; no more than that."""
    one, other = ({question.u for question in answered(placing(lanes=lanes), LABELS, 80, 1)} for lanes in (1, 512))
    assert len(other - one) <= 3


def test_with_ninety_items_under_way_counts_rest_on_a_random_sample_and_their_intervals_cover() -> None:
    """Items count in their random order: what is settled early, because it matched, counts no sooner."""
    sizes, runs = tuple(max(1, int(80 / rank)) for rank in range(1, 41)), 16
    vectors, labels = blobs(sizes, noise=0.8)
    held = 0
    for seed in range(runs):
        sampler = PlacingSampler(vectors, np.zeros(len(labels)), seed=seed, rates=GivenRates(1e-6, 1e-6, 1e-6, 1e-6), lanes=512)
        answered(sampler, labels, 300, 90)
        found = sampler.result()
        first = labels[sampler._order[: int(found.anchors)]]
        counted = {size: times for size, times in found.sizes.items() if times}
        drawn = np.unique(np.unique(first, return_counts=True)[1], return_counts=True)
        assert counted == dict(zip(drawn[0].tolist(), drawn[1].tolist(), strict=True)), "the first items of the order, no others"
        assert 8 < found.anchors < len(labels)
        held += found.low <= len(sizes) <= found.high
    assert held >= enough(runs, 0.95)


# -- what is needed most likely ------------------------------------------------------------------------------------------------


def likely(*, grid: int = 1, lanes: int = 512, rates: GivenRates | None = None, seed: int = 1) -> PlacingSampler:
    return PlacingSampler(VECTORS, np.zeros(len(LABELS)), seed=seed, grid=grid, rates=rates, lanes=lanes, likely=True)


@pytest.mark.parametrize("grid", [1, 8])
@pytest.mark.parametrize("rates", [None, EXACT], ids=["votes", "exact"])
def test_asked_one_by_one_a_count_that_may_ask_ahead_asks_what_one_item_at_a_time_asks(
    grid: int, rates: GivenRates | None
) -> None:
    plain = PlacingSampler(VECTORS, np.zeros(len(LABELS)), seed=1, grid=grid, rates=rates)
    assert looked_at(likely(grid=grid, rates=rates), LABELS, 250, 1) == looked_at(plain, LABELS, 250, 1)


def looked_at(sampler: PlacingSampler, labels: NDArray[np.int64], looks: int, ready: int) -> list[Question]:
    """As `answered`, for pairs and pages, as a campaign does: what is needless is taken back, and few lie ready at the end."""
    waiting: list[list[Question]] = []
    asked: list[Question] = []
    first: dict[int, int] = {}
    for left in range(looks, 0, -1):
        asked += (new := sampler.ask(max(0, min(ready, max(left // 4, 1)) - len(waiting))))
        for question in new:
            first.setdefault(question.u, question.id)
        waiting += [list(look) for _, look in groupby(new, key=lambda one: one.id if one.page is None else ("page", one.page))]
        if not waiting:
            break
        waiting.sort(key=lambda look: (first[look[0].u], look[0].id))
        look = waiting.pop(0)
        sampler.tell([Answer(one.id, one.u, one.v, float(labels[one.u] == labels[one.v])) for one in look])
        needless = set(sampler.needless())
        back = [look for look in waiting if look[0].id in needless]
        waiting = [look for look in waiting if look[0].id not in needless]
        sampler.tell([WithdrawnAnswer(one.id, one.u, one.v, None) for look in back for one in look])
    return asked


@pytest.mark.parametrize("grid", [1, 8], ids=["pairs", "pages"])
def test_with_thirty_ready_nearly_as_many_items_are_placed_as_one_by_one_and_more_than_with_one_question_each(grid: int) -> None:
    """Before: thirty items were compared with one cluster after another at the same time, and many were unfinished at the end."""

    def placed(ready: int, **more: bool | int) -> int:
        found = 0
        for seed in range(3):
            sampler = PlacingSampler(VECTORS, np.zeros(len(LABELS)), seed=seed, grid=grid, rates=None, **more)  # type: ignore[arg-type]
            looked_at(sampler, LABELS, 250, ready)
            found += sampler.placed
        return found

    one, each, likeliest = placed(1), placed(30, lanes=512), placed(30, lanes=512, likely=True)
    assert likeliest > 1.2 * each
    assert likeliest > 0.75 * one, "in 250 answers, of which thirty always lie ready"


def said(question: Question) -> Answer:
    return Answer(question.id, question.u, question.v, float(LABELS[question.u] == LABELS[question.v]))


def until_something_is_needless() -> tuple[PlacingSampler, list[Question], dict[int, Question]]:
    """A count, the questions that were answered, and those that are open: one of these helps no more."""
    sampler = likely(rates=GivenRates(1e-6, 1e-6, 1e-6, 1e-6))
    asked: dict[int, Question] = {}
    answered: list[Question] = []
    for _ in range(200):
        asked |= {one.id: one for one in sampler.ask(20 - len(asked))}
        question = asked.pop(min(asked))
        answered.append(question)
        sampler.tell([said(question)])
        if needless := set(sampler.needless()):
            assert needless <= set(asked), "only what is open"
            return sampler, answered, asked
    pytest.fail("nothing became needless")


def different_after_all(sampler: PlacingSampler, answered: list[Question], item: int) -> None:
    """Somebody takes back what said where an item belongs."""
    sampler.tell([Answer(one.id, one.u, one.v, 0.0) for one in answered if one.u == item])


def taken_back(sampler: PlacingSampler, asked: dict[int, Question]) -> list[Question]:
    needless = [asked.pop(number) for number in sampler.needless()]
    sampler.tell([WithdrawnAnswer(one.id, one.u, one.v, None) for one in needless])
    return needless


def test_what_became_needless_is_named_and_asked_again_by_another_number_if_it_is_needed_after_all() -> None:
    sampler, given, asked = until_something_is_needless()
    placed = sampler.placed
    needless = taken_back(sampler, asked)
    assert not sampler.needless()
    assert sampler.placed == placed
    assert all((one.u, one.v) not in {(q.u, q.v) for q in needless} for one in sampler.ask(40))
    different_after_all(sampler, given, needless[0].u)
    again = sampler.ask(40)
    assert {(one.u, one.v) for one in again} & {(q.u, q.v) for q in needless}
    assert not {one.id for one in again} & {q.id for q in needless}


def test_an_answer_to_what_had_been_taken_back_is_heard_and_the_pair_is_not_asked_by_another_number() -> None:
    """A person who has a pair on the screen while it becomes needless answers it; before, the next one asked the same again."""
    sampler, given, asked = until_something_is_needless()
    late = taken_back(sampler, asked)[0]
    different_after_all(sampler, given, late.u)
    asked |= {one.id: one for one in sampler.ask(60)}
    again = [one.id for one in asked.values() if (one.u, one.v) == (late.u, late.v)]
    before = sampler.result().answers
    sampler.tell([said(late)])
    assert sampler.result().answers == before + 1
    assert set(again) <= set(sampler.needless()), "who else has it need not answer it"
    sampler.tell([WithdrawnAnswer(one, late.u, late.v, None) for one in again])
    sampler.tell([WithdrawnAnswer(late.id, late.u, late.v, None)])  # the late answer was undone: nobody said anything
    assert sampler.result().answers == before
    assert (late.u, late.v) in {(one.u, one.v) for one in sampler.ask(60)}


def test_counts_that_ask_what_is_likeliest_needed_rest_on_the_first_items_of_the_order_and_their_intervals_cover() -> None:
    sizes, runs = tuple(max(1, int(80 / rank)) for rank in range(1, 41)), 10
    vectors, labels = blobs(sizes, noise=0.8)
    held = 0
    for seed in range(runs):
        sampler = PlacingSampler(vectors, np.zeros(len(labels)), seed=seed, rates=EXACT, lanes=512, likely=True)
        looked_at(sampler, labels, 180, 30)
        found = sampler.result()
        first = labels[sampler._order[: int(found.anchors)]]
        drawn = np.unique(np.unique(first, return_counts=True)[1], return_counts=True)
        assert {size: times for size, times in found.sizes.items() if times} == dict(
            zip(drawn[0].tolist(), drawn[1].tolist(), strict=True)
        )
        held += found.low <= len(sizes) <= found.high
    assert held >= enough(runs, 0.95)
