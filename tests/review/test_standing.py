"""The progress page: what it says about the campaign and about people."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.campaign.activity import questions_ahead
from cccount_dist.campaign.campaign import Response
from cccount_dist.review.rates import measured_rates
from cccount_dist.sampling.ledger import LoggedAnswer
from cccount_dist.sampling.types import Question
from tests.review.campaigns import Clock, ask, make_folder, page, pairs, plain_desk

TEAM = {"ana": 0.0, "ben": 0.05, "eve": 0.3}


def test_it_is_plain_data_and_learns_how_fast_people_are(tmp_path: Path) -> None:
    clock = Clock()
    folder = make_folder(tmp_path, [*pairs(20), *page(0, 20, 6)])
    desk = plain_desk(folder, clock=clock)
    for number in range(20):
        clock.wait(9.0)
        desk.answer("ana", [Response(number, 1.0, seconds=5.0 if number else 900.0)])
    clock.wait(3600)
    desk.answer("ana", [Response(20 + n, 0.0, seconds=4.0) for n in range(6)])
    standing = desk.standing()
    assert json.loads(json.dumps(asdict(standing), default=str))["annotators"][0]["name"] == "ana"
    assert standing.seconds_per_pair == pytest.approx((19 * 5 + 25) / 20), "fifteen minutes are cut at five times the median"
    assert standing.seconds_per_page == pytest.approx(24.0)
    assert (standing.questions, standing.answers, standing.pending) == (20, 26, 0)
    (ana,) = standing.annotators
    assert ana.answers_per_hour is not None
    assert 150 < ana.answers_per_hour < 400, "21 answers in some minutes of work, not in a good hour with a break"
    assert (ana.miss, ana.suspect) == (None, False)


def test_votes_tell_who_errs_and_contradictions_are_listed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    folder = make_folder(tmp_path, pairs(300), overlap=3)
    desk = plain_desk(folder)
    for name, rate in TEAM.items():
        said = rng.random(300) >= rate
        truth = np.arange(300) % 2 == 0
        desk.answer(name, [Response(number, float(truth[number] == said[number])) for number in range(300)])
    standing = desk.standing()
    people = {person.name: person for person in standing.annotators}
    assert [person.name for person in standing.annotators if person.suspect] == ["eve"]
    for name, rate in TEAM.items():
        low, high = people[name].miss_interval or (1.0, 0.0)
        assert low <= rate <= high or rate == 0.0
    assert standing.agreement.alpha is not None
    assert 0.4 < standing.agreement.alpha < 0.8
    assert [pair[:2] for pair in standing.agreement.pairs] == [("ana", "ben"), ("ana", "eve"), ("ben", "eve")]
    with folder.lease() as lease, folder.journal() as journal:
        journal.seal(folder.log, guard=lease.check)
    rates = measured_rates(folder)
    assert rates.known
    assert (rates.miss.value or 0.0) < 0.05, "what three votes settle is better than a single vote"


def test_people_who_differ_are_asked_again_and_the_majority_holds(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(2))
    desk = plain_desk(folder)
    desk.answer("ana", [Response(0, 1.0)])
    desk.answer("ben", [Response(0, 0.0)])
    (found,) = desk.standing().contradictions
    assert (found.u, found.v, found.same, found.different) == (0, 1, 1, 1)
    assert [s.candidates[0].question_id for s in desk.take("cleo")] == [0, 1], "the disputed one comes first"
    assert [s.candidates[0].question_id for s in desk.take("ana")] == [], "and not to those who have said it"
    desk.answer("cleo", [Response(0, 0.0)])
    assert desk.standing().contradictions == []


def test_answers_that_contradict_each_other_through_others_are_queued_for_more_votes(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, [Question(0, 0, 1), Question(1, 1, 2), Question(2, 0, 2)])
    desk = plain_desk(folder)
    desk.answer("ana", [Response(0, 1.0), Response(1, 1.0), Response(2, 0.0)])
    assert len(desk.standing().contradictions) == 1
    assert desk.take("ana") == []
    assert [s.candidates[0].question_id for s in desk.take("ben")] == [0, 1, 2]
    desk.answer("ben", [Response(0, 1.0), Response(1, 0.0), Response(2, 0.0)])
    assert [s.candidates[0].question_id for s in desk.take("cleo")][:1] == [1], "the one on which they differ"
    desk.answer("cleo", [Response(1, 0.0)])
    assert desk.standing().contradictions == []
    ask(folder, [Question(3, 5, 6)])
    assert [s.candidates[0].question_id for s in desk.take("cleo")] == [3]


def test_as_many_questions_lie_ready_as_people_answer_until_the_next_step() -> None:
    minute = 60_000_000
    rows = [
        LoggedAnswer(f"{who} {n}", n, 0, 1, 1.0, "people", f"person {who}", at=1 + n * minute // 7)
        for who in range(20)
        for n in range(15 * 7)
    ]
    now = 15 * minute
    assert questions_ahead([], now, least=256, overlap=1) == 256
    assert questions_ahead(rows, now, least=16, overlap=1) == 20 * 7 * 5 + 20 * 8, "20 people, 7 answers a minute each"
    assert questions_ahead(rows, now, least=16, overlap=2) == 20 * 7 * 5 // 2 + 20 * 8
    assert questions_ahead(rows, now + 60 * minute, least=16, overlap=1) == 16, "they have gone home"
    assert questions_ahead([replace(row, source="file") for row in rows], now, least=16, overlap=1) == 16, (
        "a file waits for nobody"
    )
