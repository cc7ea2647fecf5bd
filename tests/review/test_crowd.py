"""Annotators who err: what their votes settle, at which cost; who is named; the figures against slow references."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.crowd import TEAM, play
from cccount_dist.review.dawid_skene import dawid_skene
from cccount_dist.review.kappas import cohen, krippendorff
from cccount_dist.review.rates import Rate, reliability_of


@pytest.mark.parametrize("prevalence", [0.5, 0.15])
def test_two_votes_and_more_where_it_is_doubtful_are_99_percent_right_and_the_bad_annotator_is_named(prevalence: float) -> None:
    played = [play(seed, questions=600, overlap=2, prevalence=prevalence) for seed in range(8)]
    questions = sum(len(p.truth) for p in played)
    wrong = sum(p.wrong for p in played)
    # At an error of 1 % exactly this many would be wrong in one of a thousand runs.
    assert wrong <= 0.01 * questions + 3.1 * math.sqrt(0.01 * 0.99 * questions)
    assert wrong / questions <= 0.01, f"{wrong} of {questions} settled answers are wrong"
    assert sum(p.votes for p in played) / questions < 2.6, "votes for each question"
    assert all(reliability_of(p.ledger).suspects == ["eve"] for p in played)


def test_rates_are_found_within_their_intervals() -> None:
    inside = 0
    for seed in range(10):
        people = reliability_of(play(100 + seed, questions=500, overlap=3).ledger).people
        for name, rate in TEAM.items():
            for found in (people[name].miss, people[name].false_same):
                low, high = found.interval or (1.0, 0.0)
                inside += low <= rate <= high
    assert inside >= 100 * 0.95 - 3.1 * math.sqrt(100 * 0.95 * 0.05) - 5, "a few points are lost to inference from votes"


def test_a_team_of_equals_has_no_suspect() -> None:
    team = dict.fromkeys(("ana", "ben", "cleo", "dan"), 0.04)
    named = [reliability_of(play(seed, questions=200, overlap=2, team=team).ledger).suspects for seed in range(25)]
    assert sum(map(bool, named)) <= 2


def test_the_error_of_settled_answers_is_estimated() -> None:
    played = play(5, questions=2000, overlap=2)
    settled = reliability_of(played.ledger).settled
    expected = settled.miss.wrong + settled.false_same.wrong
    assert played.wrong == pytest.approx(expected, abs=4 * math.sqrt(max(expected, 1.0)))


def slow_dawid_skene(rows: list[tuple[int, int, bool]], known: list[float], rounds: int) -> tuple[list[float], list[float]]:
    """EM with plain loops: probabilities of same, and rates of misses."""
    questions, people = len(known), 1 + max(a for _, a, _ in rows)
    same = []
    for q in range(questions):
        votes = [said for question, _, said in rows if question == q]
        same.append(known[q] if not math.isnan(known[q]) else sum(votes) / max(len(votes), 1))
    miss: list[float] = []
    for _ in range(rounds):
        miss, false_same = [], []
        for a in range(people):
            mine = [(same[q], said) for q, annotator, said in rows if annotator == a]
            miss.append((2 + sum(p for p, said in mine if not said)) / (50 + sum(p for p, _ in mine)))
            false_same.append((2 + sum(1 - p for p, said in mine if said)) / (50 + sum(1 - p for p, _ in mine)))
        asked = [q for q in range(questions) if math.isnan(known[q]) and any(r[0] == q for r in rows)]
        prevalence = (1 + sum(same[q] for q in asked)) / (2 + len(asked))
        following = []
        for q in range(questions):
            odds = prevalence / (1 - prevalence)
            for question, a, said in rows:
                if question == q:
                    odds *= (1 - miss[a]) / false_same[a] if said else miss[a] / (1 - false_same[a])
            following.append(known[q] if not math.isnan(known[q]) else odds / (1 + odds))
        same = following
    return same, miss


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_dawid_skene_is_the_slow_one(data: st.DataObject) -> None:
    known = data.draw(st.lists(st.sampled_from([math.nan, math.nan, 0.0, 1.0]), min_size=1, max_size=5))
    row = st.tuples(st.integers(0, len(known) - 1), st.integers(0, 3), st.booleans())
    rows = data.draw(st.lists(row, min_size=1, max_size=12, unique_by=lambda r: r[:2]))
    table = np.array(rows, dtype=np.int64)
    found = dawid_skene(table[:, 0], table[:, 1], table[:, 2].astype(bool), np.array(known))
    same, miss = slow_dawid_skene(rows, known, 200)
    asked = sorted({q for q, _, _ in rows})
    assert found.same[asked] == pytest.approx([same[q] for q in asked], abs=1e-4)
    assert found.miss == pytest.approx(miss, abs=1e-4)


def test_the_agreement_of_published_examples() -> None:
    # Cohen (1960) as in every textbook: 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no.
    assert cohen([(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15) == pytest.approx(0.4)
    assert cohen([(1, 1)] * 9) is None
    # Krippendorff (2011), "Computing Krippendorff's alpha-reliability", binary data of two observers: 0.095.
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    assert krippendorff(zip(first, second, strict=True)) == pytest.approx(0.095, abs=5e-4)
    assert krippendorff([(1.0,), (0.0,)]) is None


def test_intervals_of_a_rate() -> None:
    assert Rate(0.0, 0.0).interval is None
    low, high = Rate(4.0, 100.0).interval or (1.0, 0.0)
    assert (low, high) == pytest.approx((0.0139, 0.0924), abs=2e-3)
