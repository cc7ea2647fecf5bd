"""Counting by sheets: exact when everything is grouped, honest before, the same questions from the same answers."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.belief import belief, new_share
from cccount_dist.clustering.catalogue.nearest import nearest_clusters
from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.sheet import Kind
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.counting.mixture import size_table
from cccount_dist.counting.order import random_order
from cccount_dist.counting.result import CountResult
from cccount_dist.counting.sheets.parts import expected_parts
from cccount_dist.counting.sheets.searched import RATES, TIMES, Searched, _likelihood, number_of
from cccount_dist.counting.sheets.sheets_sampler import SheetsSampler
from cccount_dist.estimators.counter import ClusterCounter
from cccount_dist.sampling.methods import Start
from cccount_dist.sampling.types import Answer, Question
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from tests.cccount_dist.samplers import Labels, blobs

SIZES = (30, 24, 18, 14, 10, 8, 6, 5, 4, 3, 2, 2, 1, 1, 1)
VECTORS, LABELS = blobs(SIZES, dimensions=12, noise=0.5, seed=2)
LISTS = neighbors_in_memory(VECTORS, 20).index
RIGHT = SheetRates.of(0.0, 0.0)


def sampler(seed: int = 0, *, right: bool = True, **parameters: int) -> SheetsSampler:
    given = CatalogueParameters(**parameters)  # type: ignore[arg-type]
    rates = RIGHT if right else None
    return SheetsSampler(VECTORS, LISTS, np.zeros(len(LABELS)), given, seed=seed, rates=rates, right=right)


def said(question: Question, labels: Labels = LABELS) -> Answer:
    return Answer(question.id, question.u, question.v, float(labels[question.u] == labels[question.v]))


def played(
    counter: SheetsSampler, glances: int, labels: Labels = LABELS, wrong: tuple[float, float] = (0, 0), seed: int = 0
) -> int:
    """Answer so many sheets one after the other, and return how many were there."""
    chance = np.random.default_rng(seed)
    for number in range(glances):
        sheet = counter.ask(1)
        if not sheet:
            return number
        answers = [said(question, labels) for question in sheet]
        rates = [wrong[0] if answer.value else wrong[1] for answer in answers]
        luck = chance.random(len(answers)) < rates
        counter.tell([replace(a, value=1.0 - (a.value or 0.0)) if err else a for a, err in zip(answers, luck, strict=True)])
    return glances


# -- what it is for ----------------------------------------------------------------------------------------------------------


def test_when_every_item_is_in_a_group_the_count_is_exact() -> None:
    counter = sampler()
    glances = played(counter, 300)
    result = counter.result()
    assert glances < 200
    assert counter.done
    assert (result.estimate, result.low, result.high, result.anchors) == (len(SIZES), len(SIZES), len(SIZES), len(LABELS))
    assert result.sizes == {int(size): SIZES.count(size) for size in set(SIZES)}


def test_nothing_is_said_before_some_random_items_were_asked_about() -> None:
    counter = sampler()
    played(counter, 5)
    result = counter.result()
    assert (result.estimate, result.low, result.high) == (None, 1.0, float(len(LABELS)))


def test_every_third_sheet_is_about_the_next_random_item_that_is_not_surely_in_a_group() -> None:
    counter, order = sampler(seed=4), random_order(4, len(LABELS)).tolist()
    before = -1
    for number in range(45):
        sheet = counter.ask(1)
        asked = counter._look().asked[-1]
        if asked.drawn:
            place = order.index(asked.anchor)
            assert place > before
            assert number % 3 == 2
            passed = [order[one] for one in range(before + 1, place)]
            assert all(counter._look().book.clusters.label[item] >= 0 for item in passed)
            before = place
        counter.tell([said(question) for question in sheet])
    assert before > 10


def test_groups_are_compared_with_each_other() -> None:
    counter = sampler(right=False)
    played(counter, 60)
    state = counter._look()
    assert sum(sheet.kind is Kind.CHECK for sheet in state.asked) >= 8
    assert state.book.looks
    assert expected_parts(state) < len(state.book.clusters.live) / 3


def test_intervals_hold_the_truth_in_nineteen_of_twenty_runs() -> None:
    """100 seeded runs with 4 % misses and 1 % false marks, most of them in the middle of it; a standard error is 0.022."""
    held: list[bool] = []
    for seed in range(100):
        random = np.random.default_rng(seed)
        sizes = (9,) * 13 if seed % 2 else tuple(np.maximum(1, random.lognormal(1.9, 0.9, 13).round()).astype(int).tolist())
        vectors, labels = blobs(sizes, dimensions=8, noise=0.6, seed=seed)
        lists = neighbors_in_memory(vectors, 12).index
        counter = SheetsSampler(vectors, lists, np.zeros(len(labels)), CatalogueParameters(), seed=seed)
        played(counter, 45, labels, (0.04, 0.01), seed)
        result = counter.result()
        if result.estimate is not None:
            held.append(result.low <= len(sizes) <= result.high)
    assert len(held) > 80, "most runs have an estimate by now"
    assert np.mean(held) >= 0.92


# -- the same from the same --------------------------------------------------------------------------------------------------


def test_the_same_answers_give_the_same_questions_and_result_however_often_one_looks() -> None:
    first, second = sampler(3, right=False), sampler(3, right=False)
    for _ in range(70):
        sheet = first.ask(1)
        assert second.result().low >= 1.0
        assert bool(second.preview(3)) or second.done
        assert second.ask(1) == sheet
        answers = [said(question) for question in sheet]
        first.tell(answers)
        for answer in answers:
            second.tell([answer])
    assert first.result() == second.result()


def test_an_answer_that_is_taken_back_counts_no_more() -> None:
    counter = sampler(right=False)
    played(counter, 60)
    sheet = counter.ask(1)
    answers = [said(question) for question in sheet]
    counter.tell([replace(answer, value=1.0) for answer in answers])
    counter.ask(1)
    counter.tell(answers)
    played(counter, 300)
    result = counter.result()
    assert result.low <= len(SIZES) <= result.high


def test_a_picture_of_which_nobody_can_tell_ends_the_count_all_the_same() -> None:
    counter, unclear = sampler(right=False), {int(np.flatnonzero(LABELS == 3)[0]), int(np.flatnonzero(LABELS == 12)[0])}
    for _ in range(400):
        sheet = counter.ask(1)
        if not sheet:
            break
        counter.tell([
            replace(said(q), value=None) if {q.u, q.v} & unclear else said(q) for q in sheet
        ])  # fmt: skip
    assert counter.done
    result = counter.result()
    assert result.low <= len(SIZES) <= result.high


# -- its parts ---------------------------------------------------------------------------------------------------------------


def test_the_likelihood_is_that_of_its_formula() -> None:
    found = Searched(np.array([1, 3, 1]), np.array([True, True, False]), np.array([0.5, 1.0, 0.2]), 2, 5, 40, 30)
    table = size_table(40)
    log, unseen = _likelihood(found)
    rate, row = 4, len(table.clusters) // 3
    size, weight, share = table.sizes, table.weights[row], 5 / 40

    def chance(count: int) -> NDArray[np.float64]:
        return np.array([comb(int(s), count) * share**count * (1 - share) ** (s - count) if s >= count else 0.0 for s in size])

    def missed(time: float) -> NDArray[np.float64]:
        return np.asarray(np.exp(-RATES[rate] * np.ceil(time * TIMES) / TIMES * size))

    classes, late = table.clusters[row], (1 - share) ** size * missed(1.0)
    rest = classes * float(weight @ late)
    expected = 5 * np.log(classes) - (classes - rest)
    expected += np.log(weight @ (chance(1) * (1 - missed(0.5)))) + np.log(weight @ (chance(3) * (1 - missed(1.0))))
    expected += np.log(weight @ (chance(1) * missed(0.2))) + 2 * np.log(weight @ ((1 - share) ** size * (1 - missed(1.0))))
    too_many = max(classes * float(weight @ (late * size)) - 30, 0.0)
    place = rate * len(table.clusters) + row
    assert unseen[place] == pytest.approx(rest)
    assert log[place] == pytest.approx(expected - 0.5 * too_many**2 / 31)


@pytest.mark.parametrize("spread", [0.0, 0.8])
def test_classes_that_nobody_saw_are_counted_honestly(spread: float) -> None:
    """60 collections, searched by sheets that find large classes sooner, with a tenth of the items drawn."""
    held, errors = [], []
    for seed in range(60):
        random = np.random.default_rng(seed)
        sizes = np.maximum(1, (20 * np.exp(spread * random.normal(size=60))).round()).astype(int)
        labels = np.repeat(np.arange(60), sizes)
        drawn = random.permutation(labels)[: len(labels) // 10]
        searched = random.exponential(size=60) / sizes / 0.05  # the time at which sheets find a class
        seen, first, counts = np.unique(drawn, return_index=True, return_counts=True)
        time = (first + 1) / len(drawn)
        only = int((searched < 1.0).sum() - (searched[seen] < 1.0).sum())
        found = Searched(counts, searched[seen] < time, time, only, len(drawn), len(labels), len(labels) // 2)
        said = number_of(found, 0.0, 0.95)
        held.append(said.low <= 60 <= said.high)
        errors.append(said.estimate / 60 - 1)
    assert np.mean(held) >= 0.9
    assert abs(np.mean(errors)) < 0.1


def test_expected_parts_lower_the_estimate_and_widen_the_interval_downwards() -> None:
    found = Searched(np.full(20, 3), np.ones(20, np.bool_), np.full(20, 0.5), 10, 60, 600, 0)
    assert number_of(found, 0.0, 0.95).low == 30.0
    less = number_of(found, 5.0, 0.95)
    assert less.low < 25.0 < less.high <= 30.0
    assert less.estimate == pytest.approx(25.0, abs=1.5)


def test_what_is_believed_of_an_item_is_a_probability_and_a_mark_raises_it() -> None:
    counter = sampler(right=False)
    played(counter, 20)
    state = counter._look().copy()
    item = int(state.book.clusters.unplaced[0])
    before = belief(state, item)
    assert 0.0 < before.sum() < 1.0
    assert 0.0 < new_share(state) < 1.0
    cluster = int(state.book.clusters.live[0])
    state.book.votes.add(item, cluster, marked=True)
    after = belief(state, item)
    assert after[cluster] > before[cluster]
    assert after.sum() <= 1.0 + 1e-9


def test_the_nearest_groups_are_those_with_the_nearest_means() -> None:
    counter = sampler()
    played(counter, 40)
    state = counter._look()
    clusters = state.book.clusters
    for cluster, others in nearest_clusters(state).items():
        rest = [one for one in clusters.live.tolist() if one != cluster]
        away = {one: float(np.square(clusters.centre[one].astype(float) - clusters.centre[cluster]).sum()) for one in rest}
        assert others == sorted(rest, key=lambda one: away[one])[: len(others)]


# -- as a method -------------------------------------------------------------------------------------------------------------


def test_it_is_a_method_of_count_that_says_what_it_needs() -> None:
    method = counting_method("sheets")
    assert method.needs == ("vectors", "neighbors")
    assert method.frozen({}, Start(simulated=True)) == {"wrong_answers": "none"}
    assert method.frozen({}, Start(simulated=False)) == {"open": 64}
    with pytest.raises(InputError, match="cccount neighbors"):
        make_counter("sheets", vectors=VECTORS, degree=np.zeros(len(LABELS)))


def test_an_oracle_with_pages_is_asked_sheet_by_sheet() -> None:
    class Person:
        glances = 0

        def __call__(self, u: int, v: int) -> bool:
            return bool(LABELS[u] == LABELS[v])

        def page(self, u: int, vs: list[int]) -> list[bool]:
            self.glances += 1
            return [self(u, v) for v in vs]

    person = Person()
    counter = ClusterCounter(method="sheets", budget=900).fit(VECTORS, oracle=person)
    assert counter.n_clusters_ == len(SIZES)
    low, high = counter.interval_
    assert low == high == len(SIZES)
    assert counter.n_glances_ == person.glances
    assert counter.n_questions_ == 0
    assert counter.human_seconds_ == 30.0 * person.glances


def test_two_items_can_be_counted_and_one_cannot() -> None:
    lists = np.array([[1], [0]], np.int32)
    counter = SheetsSampler(VECTORS[:2], lists, np.zeros(2), CatalogueParameters(), rates=RIGHT, right=True)
    played(counter, 20, np.array([0, 1]))
    result: CountResult = counter.result()
    assert result.low <= 2 <= result.high
    with pytest.raises(InputError, match="at least 2 items"):
        SheetsSampler(VECTORS[:2], lists, np.array([0.0, np.nan]), CatalogueParameters())
