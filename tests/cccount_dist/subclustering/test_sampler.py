"""Active subclustering as a sampler: replay, batches, nothing implied is asked, no wrong member stays, everything is found."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer, Question
from cccount_dist.subclustering.passive import Options, draw_candidates
from cccount_dist.subclustering.result import EMPTY
from cccount_dist.subclustering.scores import subcluster_scores
from cccount_dist.subclustering.subcluster_sampler import BETWEEN, WITHIN, ActiveSubclustering
from storage.errors import InputError
from tests.cccount_dist.samplers import Played, blobs, play

VECTORS, LABELS = blobs((24, 16, 12, 10, 9, 5), noise=0.5)
CLASSES = 6
OPTIONS = st.sampled_from(
    [
        Options(CLASSES, 4),
        Options(CLASSES, 3, start="pam", restricted=12),
        Options(8, 3, seed=2),
        Options(4, 1, scale=0.5),
        Options(8, 3, likely=True),
    ]
)


def sampler(options: Options) -> ActiveSubclustering:
    return ActiveSubclustering(draw_candidates(VECTORS, options), options)


def truth(question: Question) -> Answer:
    return Answer(question.id, question.u, question.v, float(LABELS[question.u] == LABELS[question.v]))


@settings(max_examples=20, deadline=None)
@given(OPTIONS, st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=12), st.randoms(use_true_random=False))
def test_a_campaign_that_was_killed_asks_the_same_questions_when_it_is_resumed(
    options: Options, cuts: list[tuple[int, int]], chance: random.Random
) -> None:
    live = sampler(options)

    def look(_: Played) -> None:  # changes nothing
        assert live.result() is not None
        assert live.done in (True, False)

    log = play(live, cuts, LABELS, chance, look)
    again = log.resumed(sampler(options))
    assert repr(again.result()) == repr(live.result())
    assert again.ask(5) == live.ask(5)
    assert [question.id for question in log.questions] == list(range(len(log.questions)))


@settings(max_examples=15, deadline=None)
@given(OPTIONS, st.lists(st.integers(0, 4), max_size=6), st.integers(0, 25))
def test_how_questions_are_cut_into_batches_does_not_change_them(options: Options, batches: list[int], before: int) -> None:
    whole, cut = sampler(options), sampler(options)
    for one in (whole, cut):
        drive(one, LabelOracle(LABELS), budget=before)
    asked = [question for batch in batches for question in cut.ask(batch)]
    assert asked == list(whole.ask(sum(batches)))


def test_what_lies_ready_is_what_would_be_asked_one_by_one_as_long_as_the_likeliest_answers_come() -> None:
    """Before: questions that were chosen at once were about centroids that had moved by the time they were answered."""
    for seed in range(3):
        options = Options(8, 4, seed=seed, likely=True)
        one, ahead = sampler(options), sampler(options)
        for question in ahead.ask(12):
            assert one.ask(1) == [question]
            likely = float(np.exp(-one._asked[-1].distance / one._selection.scale) >= 0.5)
            one.tell([Answer(question.id, question.u, question.v, likely)])


@settings(max_examples=15, deadline=None)
@given(OPTIONS, st.integers(0, 2**30), st.sampled_from([1, 5, 40]), st.floats(0, 0.2), st.randoms(use_true_random=False))
def test_nothing_implied_is_asked_and_no_member_is_known_to_be_different(
    options: Options, seed: int, batch: int, error_rate: float, chance: random.Random
) -> None:
    one = sampler(options)
    closure = Constraints()
    oracle = LabelOracle(LABELS, error_rate=error_rate, seed=seed)
    asked = 0
    while not one.done and asked < 150:
        questions = one.ask(batch)
        assert questions
        asked += len(questions)
        chance.shuffle(questions)
        for question in questions:  # not even answers to others of the batch imply one
            assert question.u != question.v
            assert closure.known(question.u, question.v) is None
            value = oracle.answer(question)
            assert value is not None
            assert closure.add(question.u, question.v, value, str(question.id))
            one.tell([Answer(question.id, question.u, question.v, value)])
        found = one.result()
        filled = found.members[found.members != EMPTY]
        assert len(filled) == len(np.unique(filled))
        for row, marks in zip(found.members.tolist(), found.checked.tolist(), strict=True):
            for item, checked in zip(row, marks, strict=True):
                known = None if item == EMPTY else closure.known(row[0], item)
                assert known != 0.0
                assert checked == (known == 1.0)


@pytest.mark.parametrize("start", ["random", "pam"])
@pytest.mark.parametrize("batch", [1, 16])
def test_all_answers_lead_to_perfect_subclusters(start: str, batch: int) -> None:
    one = sampler(Options(CLASSES, 4, start=start))
    tally = drive(one, LabelOracle(LABELS), budget=1000, batch=batch)
    assert (tally.stopped, tally.inferred, tally.conflicts) == ("done", 0, 0)
    found = one.result()
    scores = subcluster_scores(LABELS, found.members)
    assert (scores.sjc, scores.coverage, scores.purity) == (1.0, 1.0, 1.0)
    assert found.checked.all()


def test_a_class_that_is_smaller_than_a_subcluster_leaves_places_empty() -> None:
    one = sampler(Options(CLASSES, 7))
    drive(one, LabelOracle(LABELS), budget=2000, batch=1)
    found = one.result()
    assert one.done
    assert found.empty == 2  # the class of five images
    scores = subcluster_scores(LABELS, found.members)
    assert scores.coverage == 1.0
    assert scores.sjc == pytest.approx((5 + 10 / 21) / 6)


def test_surplus_subclusters_are_flagged_and_not_asked_about() -> None:
    one = sampler(Options(8, 3))
    drive(one, LabelOracle(LABELS), budget=3000, batch=1)
    found = one.result()
    assert one.done
    assert (found.count, int(found.surplus.sum())) == (CLASSES, 2)
    assert subcluster_scores(LABELS, found.members[~found.surplus]).sjc == 1.0


def test_an_image_nobody_can_tell_is_replaced_and_the_pair_is_not_asked_again() -> None:
    one = sampler(Options(CLASSES, 4))
    seen = set()
    for _ in range(60):
        (question,) = one.ask(1)
        pair = frozenset((question.u, question.v))
        assert pair not in seen
        seen.add(pair)
        one.tell([Answer(question.id, question.u, question.v, None)])
        if question.purpose == WITHIN:
            assert [question.u, question.v] not in [[row[0], item] for row in one.result().members.tolist() for item in row]


def test_a_withdrawn_answer_is_forgotten() -> None:
    one, other = sampler(Options(CLASSES, 4)), sampler(Options(CLASSES, 4))
    questions = one.ask(8)
    other.ask(8)
    one.tell([truth(question) for question in questions])
    other.tell([truth(question) for question in questions[1:]])
    one.tell([Answer(questions[0].id, questions[0].u, questions[0].v, None)])
    other.tell([Answer(questions[0].id, questions[0].u, questions[0].v, None)])
    assert one.result().checked.sum() == other.result().checked.sum()
    assert not one.conflicts


def test_both_kinds_of_questions_are_asked_and_wrong_ones_are_refused() -> None:
    one = sampler(Options(CLASSES, 4))
    drive(one, LabelOracle(LABELS), budget=30, batch=1)
    assert {question.purpose for question in one.ask(100)} <= {BETWEEN, WITHIN}
    with pytest.raises(InputError, match="question 900 was answered"):
        one.tell([Answer(900, 0, 1, 1.0)])
    with pytest.raises(InputError, match="an answer is 1, 0 or unsure"):
        one.tell([Answer(0, 0, 1, 0.5)])


def test_wrong_answers_do_not_stop_a_campaign() -> None:
    one = sampler(Options(CLASSES, 4))
    drive(one, LabelOracle(LABELS, error_rate=0.1, seed=3), budget=400, batch=4)
    assert subcluster_scores(LABELS, one.result().members).purity > 0.6
