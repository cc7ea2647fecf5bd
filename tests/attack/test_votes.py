"""One annotator against a campaign: votes without end on one question, in a log of before and over HTTP."""

import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.gallery import pairs_of, start_campaign
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.review.checkquestions import CHECKS_FROM
from cccount_dist.review.pace import Pace
from cccount_dist.sampling.ledger import Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.types import Question
from storage.workspace import Workspace
from tests.flows.calls import CountOptions, advance, count, status
from tests.review.campaigns import make_folder, pairs, plain_desk
from tests.review.conftest import Serve

SECONDS = 20.0  # main took 110 s and more for ever; on a busy machine this is about two


def votes(count: int, people: int, questions: list[Question]) -> list[LoggedAnswer]:
    """So many votes, each person and question in turn, now same and now different."""
    rows = []
    for number in range(count):
        question = questions[number % len(questions)]
        who = f"person {number // len(questions) % people}"
        rows.append(LoggedAnswer(f"v{number}", question.id, question.u, question.v, float(number // 7 % 2), "people", who))
    return rows


@pytest.mark.parametrize(("count", "people", "asked"), [(16_800, 1, 1), (30_000, 3, 16), (30_000, 1_800, 16)])
def test_a_log_with_votes_without_end_on_one_question_opens_in_seconds(
    tmp_path: Path, count: int, people: int, asked: int
) -> None:
    folder = make_folder(tmp_path / "ws", pairs(asked))
    folder.log.append_answers(answers_table(votes(count, people, pairs(asked))))
    began = time.process_time()
    found = Campaign.open(str(tmp_path / "ws"), "c").status()
    desk = plain_desk(folder)
    assert desk.standing().questions == asked
    desk.close()
    assert time.process_time() - began < SECONDS
    assert (found.answers, found.questions, found.pending) == (count, asked, 0)


def test_advance_and_status_take_seconds_with_16800_votes_on_one_question(workspace: Path) -> None:
    place = str(workspace)
    count(place, "census", CountOptions(budget=200, method="nis"))
    campaign = Campaign.open(place, "census")
    first = campaign.questions[0]
    folder = campaign._folder
    folder.log.append_answers(answers_table(votes(16_800, 1, [first])))
    began = time.process_time()
    advance(place, "census")
    (standing,) = status(place)["campaigns"]
    assert time.process_time() - began < SECONDS
    assert (standing["answers"], standing["questions"]) == (16_800, 1)


def test_whoever_changes_their_mind_has_one_vote_and_the_last_one_counts(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(3))
    desk = plain_desk(folder)
    for number in range(40):
        receipt = desk.answer("ana", [Response(0, float(number % 2), id=f"answer-{number}")])
        assert receipt.stored == [f"answer-{number}"]
    assert desk.answer("ana", [Response(0, 1.0, id="once more")]).known == ["once more"], "the same again says nothing new"
    ledger = desk._reading.ledger
    assert [(vote.id, vote.value) for vote in ledger.votes(0)] == [("answer-39", 1.0)]
    assert desk.answer("ben", [Response(0, 0.0, id="of ben")]).stored == ["of ben"]
    assert len(ledger.votes(0)) == 2
    desk.undo("ana", "answer-39", id="the undo")
    assert [vote.annotator for vote in ledger.votes(0)] == ["ben"], "what was replaced does not come back"
    desk.close()
    again = Campaign.open(str(tmp_path), "c")
    assert again.ledger.settled(0) == ledger.settled(0)
    assert again.tell([Response(1, 1.0, "ana"), Response(1, 0.0, "ana"), Response(1, 0.0, "ana")], source="file") == 2
    settled = again.ledger.settled(1)
    assert settled is not None
    assert settled.value == 0.0


def test_a_check_question_has_one_answer_too(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, pairs(40))
    desk = plain_desk(folder, repeats=0.5)
    number = 0
    while number < CHECKS_FROM:  # half of the sheets repeat an earlier one
        (sheet,) = desk.take("ana", 1)
        number = sheet.candidates[0].question_id
        if number < CHECKS_FROM:
            desk.answer("ana", [Response(number, 1.0, id=f"plain-{number}")])
    before = desk._reading.ledger.position
    for value in range(10):
        desk.answer("ana", [Response(number, 1.0, id=f"check-{value:04d}")])
    assert desk._reading.ledger.position == before + 1
    desk.close()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_votes_that_wait_behind_others_come_forward_as_they_always_did(data: st.DataObject) -> None:
    """Against the slow reading of the log: the first vote of each person that was not taken back, in the order of the log."""
    question = Question(0, 0, 1)
    rows: list[LoggedAnswer] = []
    for number in range(data.draw(st.integers(1, 16))):
        undone = data.draw(st.integers(-len(rows), len(rows) - 1)) if rows else -1
        if undone >= 0:
            rows.append(replace(rows[0], id=f"u{number}", undoes=rows[undone].id, value=None))
        else:
            who: str = data.draw(st.sampled_from(["ana", "ben", "cleo"]))
            value: float | None = data.draw(st.sampled_from([0.0, 1.0, None]))
            rows.append(LoggedAnswer(f"a{number}", 0, 0, 1, value, "people", who))
    ledger = Ledger()
    ledger.know([question])
    ledger.take(rows)
    known = {row.id: row for row in rows}
    gone = {row.undoes for row in rows if row.undoes is not None and known[row.undoes].undoes is None}
    first: dict[str, LoggedAnswer] = {}
    for row in rows:
        if row.undoes is None and row.id not in gone:
            first.setdefault(row.annotator, row)
    assert ledger.votes(0) == list(first.values())
    assert all(ledger.standing(0, who) == row for who, row in first.items())
    assert ledger.people(0) == len(first)
    assert len(ledger.answers(0)) == sum(row.undoes is None and row.id not in gone for row in rows)


def test_a_person_may_answer_600_times_a_minute_and_no_more() -> None:
    now = [0.0]
    pace = Pace(clock=lambda: now[0])
    assert pace.wait("ana", 600) == 0.0
    assert 0.0 < pace.wait("ana", 1) <= 1.0
    assert pace.wait("ben", 200) == 0.0, "another person is not held up"
    now[0] += 30.0
    assert pace.wait("ana", 300) == 0.0
    assert pace.wait("ana", 300) > 0.0
    assert pace.wait("cleo", 240, changes=True) == 0.0, "ten sheets may be taken back at once"
    assert pace.wait("cleo", 1, changes=True) > 0.0
    assert pace.wait("cleo", 1) == 0.0


def test_somebody_who_floods_the_server_is_told_to_wait(gallery: Workspace, serve: Serve) -> None:
    start_campaign(gallery, "census", pairs_of(48, 20))
    with serve(gallery) as server, httpx.Client(base_url=server.url, timeout=60.0) as client:
        codes = []
        for round_ in range(8):
            body = [{"id": f"flood-{round_:04d}-{n:04d}", "question_id": n % 20, "value": round_ % 2} for n in range(200)]
            refused = client.post("/api/census/answers", json=body)
            codes.append(refused.status_code)
        assert codes[:1] == [200]
        assert codes[-1] == 429
        assert "a minute" in refused.json()["detail"]
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/api/census/sheets").status_code == 200
