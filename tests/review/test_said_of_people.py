"""Nobody is accused without evidence, nobody works 34,978 answers an hour, and all places say the same numbers."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.effort import effort_of
from cccount_dist.kinds.count.report import gather
from cccount_dist.report.countpage import report_page
from cccount_dist.review.desk import Desk
from cccount_dist.review.rates import ENOUGH
from cccount_dist.sampling.ledger import GOLD, OUTSIDE, LoggedAnswer
from cccount_dist.sampling.types import DIFFERENT, SAME, Question
from flows.stages.campaigns import status
from storage.settings import Goal
from tests.cccount_dist.report.reading import check
from tests.review.campaigns import Clock, make_folder, page, pairs, plain_desk


def test_a_person_who_was_never_wrong_is_not_told_to_miss_100_percent(tmp_path: Path) -> None:
    """Two people, no gold, a few questions on which they differ: nobody knows who is wrong."""
    desk = plain_desk(make_folder(tmp_path, pairs(60)))
    desk.answer("ana", [Response(number, 1.0) for number in range(60)])
    desk.answer("ben", [Response(number, float(number % 3 > 0)) for number in range(60)])
    for person in desk.standing().annotators:
        assert (person.miss, person.miss_interval, person.false_same, person.suspect) == (None, None, None, False)
        assert person.checks == 0
    desk.close()


def test_a_rate_is_told_from_enough_checks_on_with_their_number(tmp_path: Path) -> None:
    desk = plain_desk(make_folder(tmp_path, pairs(2)))
    rows = [LoggedAnswer(f"gold {n}", OUTSIDE, n, n + 500, SAME, GOLD[SAME], "ana") for n in range(ENOUGH)]
    desk._campaign.record(rows[:-1])
    (ana,) = desk.standing().annotators
    assert (ana.checks, ana.miss, ana.miss_interval) == (ENOUGH - 1, None, None)
    desk._campaign.record(rows[-1:])
    (ana,) = desk.standing().annotators
    assert (ana.checks, ana.miss) == (ENOUGH, 0.0)
    assert ana.miss_interval is not None
    assert ana.miss_interval[1] < 0.2
    desk.close()


def test_25_checks_of_which_5_are_of_one_kind_are_not_called_too_few_with_the_number_25(tmp_path: Path) -> None:
    """Before: "too few checks (25)", and below it "Rates are shown after 20 checks"."""
    desk = plain_desk(make_folder(tmp_path, pairs(2)))
    truths = [DIFFERENT] * ENOUGH + [SAME] * 5
    desk._campaign.record([LoggedAnswer(f"g {n}", OUTSIDE, n, n + 500, t, GOLD[t], "ana") for n, t in enumerate(truths)])
    (ana,) = desk.standing().annotators
    assert (ana.checks, ana.miss_checks, ana.false_same_checks) == (ENOUGH + 5, 5, ENOUGH)
    assert (ana.miss, ana.false_same) == (None, 0.0)
    desk.close()


def test_four_quick_answers_are_not_34978_an_hour(tmp_path: Path) -> None:
    clock = Clock()
    desk = plain_desk(make_folder(tmp_path, pairs(40)), clock=clock)
    for number in range(4):
        clock.wait(0.1)
        desk.answer("ana", [Response(number, 1.0, seconds=0.1)])
    assert desk.standing().annotators[0].answers_per_hour is None
    for number in range(4, 40):
        clock.wait(6.0)
        desk.answer("ana", [Response(number, 1.0, seconds=5.0)])
    assert desk.standing().annotators[0].answers_per_hour == pytest.approx(600, rel=0.15)
    desk.close()


def test_answers_from_another_campaign_are_nobodys_speed_and_nobodys_total(tmp_path: Path) -> None:
    desk = plain_desk(make_folder(tmp_path, pairs(4)))
    carried = [LoggedAnswer(f"other/{n}", OUTSIDE, n, n + 9, SAME, "campaign other", "ana") for n in range(30)]
    desk._campaign.record(carried)
    desk.answer("ana", [Response(0, 1.0)])
    standing = desk.standing()
    assert [(person.name, person.answers, person.answers_per_hour) for person in standing.annotators] == [("ana", 1, None)]
    assert (standing.effort.carried, standing.given) == (30, 1)
    desk.close()


def test_the_numbers_of_report_progress_and_status_agree_and_add_up(tmp_path: Path) -> None:
    """Pairs, pages, an undo, gold, a second vote, carried answers: people saw 28, 39, 23 and 5, and 89 in one report."""
    folder = make_folder(tmp_path, [*pairs(30), *page(0, 30, 12), *page(1, 42, 12)])
    folder.set_goal(replace(Goal(400, "people"), noun="individual"))
    desk: Desk = plain_desk(folder)
    for number in range(23):
        desk.answer("ana" if number % 3 else "ben", [Response(number, float(number % 2), id=f"answer {number}")])
    desk.undo("ana", "answer 22", id="an undo of it")
    desk.answer("ana", [Response(30 + n, 0.0) for n in range(12)])
    desk.answer("ben", [Response(42 + n, 0.0) for n in range(12)])
    desk.answer("cleo", [Response(0, 0.0)])  # a further vote
    gold = [LoggedAnswer(f"gold {n}", OUTSIDE, 900 + n, 950 + n, SAME, GOLD[SAME], "ana") for n in range(3)]
    carried = [LoggedAnswer(f"other/{n}", OUTSIDE, 800 + n, 850 + n, SAME, "campaign other", "ben") for n in range(5)]
    desk._campaign.record([*gold, *carried])

    standing = desk.standing()
    desk.close()
    effort = effort_of(Campaign(folder).ledger)
    assert replace(standing.effort, costs=None) == effort
    assert (effort.pairs, effort.pages, effort.answers, effort.further, effort.checks, effort.carried) == (22, 2, 24, 1, 3, 5)
    assert effort.given == sum(person.answers for person in effort.people) == effort.answers + effort.further
    assert {person.name: person.answers for person in standing.annotators} == {p.name: p.answers for p in effort.people}

    text = check(report_page(gather(folder, folder.workspace.collection()))).text.replace("\xa0", " ")
    assert "24answers given: 22 pairs and 2 pages" in text
    assert "24 answers given, 22 pairs and 2 pages; they use 28 of the budget of 400, in which a page counts as 3.3 pairs" in text
    assert "25 answers of people: 24 that settle a question, and 1 further vote on one. 3 checks beside them" in text
    assert "5 answers came from other campaigns" in text
    assert standing.effort.carried == 5
    rows = {person.name: f"{person.pairs}{person.pages}{person.answers}{person.checks}" for person in effort.people}
    assert all(f"{name}{row}" in text for name, row in rows.items())
    assert not re.search(r"\d\.\d individuals", text)

    (row,) = status(folder.workspace.location).campaigns
    assert (row.questions + (row.glances or 0), row.noun) == (24, "individual")
    said = status(folder.workspace.location).words()
    assert re.search(r"\bc +nis +\w+ +24 ", said)
    assert "from 24 answers (22 pairs and 2 pages) and 5 of other campaigns" in said
    assert (row.carried, row.json()["carried"]) == (5, 5)


def test_a_forecast_at_the_end_or_from_carried_answers_is_not_0_answers_in_0_hours() -> None:
    from cccount_dist.counting.forecast import forecast_questions
    from cccount_dist.counting.result import CountResult
    from cccount_dist.kinds.count.outcome import ForecastOutcome

    placed = CountResult(
        100.0, 80.0, 125.0, 0.95, 90, 0, certain_low=60.0, details={"items_placed": 90.0, "clusters_found": 60.0}
    )
    assert forecast_questions(placed, 0, 0.2) is None
    few, own = forecast_questions(placed, 3, 0.2), forecast_questions(placed, 3000, 0.2)
    assert few is not None
    assert own is not None
    assert few > 500, "what other campaigns paid for does not make the rest free"
    reached = ForecastOutcome(width=0.2, questions=120, hours=0.3)
    assert not reached.lies_ahead(0.3 * 3600)
    assert reached.lies_ahead(0.2 * 3600)
    assert not ForecastOutcome(width=0.2, questions=0, hours=0.0).lies_ahead(0.0)


def test_the_same_question_is_asked_of_a_page_and_of_a_pair_when_one_candidate_is_left(tmp_path: Path) -> None:
    from cccount_dist.review.desks import Desks

    folder = make_folder(tmp_path, [Question(0, 1, 2, page=0), Question(1, 3, 4, page=1), Question(2, 3, 5, page=1)])
    desks = Desks(folder.workspace, gold=0.0, repeats=0.0)
    desk = desks.desk("c")
    assert desk is not None
    shown = [desks.sheet(desk, sheet, "ana") for sheet in desk.take("ana")]
    assert [(sheet.kind, len(sheet.candidates)) for sheet in shown] == [("pair", 1), ("grid", 2)]
    desks.close()
