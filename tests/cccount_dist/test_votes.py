"""Votes of several people in the ledger: what they settle, what an undo leaves, and what other campaigns take over."""

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.campaign.adoption import OtherCampaign
from cccount_dist.sampling.ledger import FLAG, INFERRED, OUTSIDE, Ledger, LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.settling import Reliability, most_votes, settle
from cccount_dist.sampling.types import Answer, Question
from storage.errors import InputError
from tests.review.campaigns import make_folder

PAIRS = list(itertools.combinations(range(4), 2))
QUESTIONS = [Question(i, u, v) for i, (u, v) in enumerate(PAIRS)]


@st.composite
def logs(draw: st.DrawFn) -> list[LoggedAnswer]:
    """Answers of four people to six questions about four items, with unsure ones, gold, flags and undos."""
    rows: list[LoggedAnswer] = []
    for number in range(draw(st.integers(0, 20))):
        who = draw(st.sampled_from(["ana", "ben", "cleo", "dan"]))
        kind = draw(st.sampled_from(["answer"] * 6 + ["gold", "flag", "undo", "undo"]))
        question = draw(st.sampled_from(QUESTIONS))
        value = draw(st.sampled_from([0.0, 1.0, 1.0, None]))
        if kind == "undo" and rows:
            undone = draw(st.sampled_from(rows))
            rows.append(LoggedAnswer(f"a{number}", undone.question_id, undone.u, undone.v, None, "people", who, undone.id))
        elif kind == "gold":
            rows.append(LoggedAnswer(f"a{number}", OUTSIDE, question.u, question.v, value, "gold same", who))
        elif kind == "flag":
            rows.append(LoggedAnswer(f"a{number}", question.id, question.u, question.v, None, FLAG, who))
        else:
            rows.append(LoggedAnswer(f"a{number}", question.id, question.u, question.v, value, "people", who))
    return rows


def live(rows: list[LoggedAnswer]) -> list[LoggedAnswer]:
    known = {row.id: row for row in rows}
    undone = {row.undoes for row in rows if row.undoes is not None and known[row.undoes].undoes is None}
    return [row for row in rows if row.undoes is None and row.id not in undone]


@given(logs(), st.sampled_from([1, 2, 3]), st.integers(1, 4))
@settings(max_examples=80, deadline=None)
def test_what_was_told_is_what_is_settled_however_the_log_is_read(rows: list[LoggedAnswer], overlap: int, piece: int) -> None:
    whole, pieces = Ledger(overlap), Ledger(overlap)
    events = whole.take(rows)
    collected: list[Answer] = []
    for start in range(0, len(rows), piece):
        collected += pieces.take(rows[start : start + piece])
    assert collected == events
    told = {event.question_id: event.value for event in events}
    for question in QUESTIONS:
        settled = whole.settled(question.id)
        assert told.get(question.id) == (None if settled is None else settled.value)
        people = {row.annotator for row in live(rows) if row.question_id == question.id and row.source == "people"}
        assert {vote.annotator for vote in whole.votes(question.id)} == people
        if settled is not None and settled.source == "people":
            assert len(people) >= overlap
        assert whole.wanted(question.id) > 0 or settled is not None


@given(logs())
@settings(max_examples=80, deadline=None)
def test_with_one_vote_the_majority_holds_and_the_first_of_equals(rows: list[LoggedAnswer]) -> None:
    ledger = Ledger()
    ledger.take(rows)
    for question in QUESTIONS:
        here = [row for row in live(rows) if row.question_id == question.id]
        said = {row.annotator: row.value for row in reversed(here) if row.source == "people"}
        order = [row.value for row in here if row.source == "people" and row.value == said[row.annotator]]
        settled = ledger.settled(question.id)
        if settled is not None and settled.source == "people":
            counts = Counter(said.values())
            assert counts[settled.value] == max(counts.values())
            assert settled.value == next(value for value in order if counts[value] == max(counts.values()))


@given(logs(), st.sampled_from([1, 2, 3]))
@settings(max_examples=60, deadline=None)
def test_when_everything_is_taken_back_nothing_is_left(rows: list[LoggedAnswer], overlap: int) -> None:
    ledger = Ledger(overlap)
    ledger.take(rows)
    ledger.take([LoggedAnswer(f"u {r.id}", r.question_id, r.u, r.v, None, "people", undoes=r.id) for r in live(rows)])
    assert ledger.pending(QUESTIONS) == QUESTIONS
    assert (ledger.questions, ledger.inferred, ledger.contradictions, ledger.shared) == (0, 0, 0, [])
    assert ledger.constraints.groups() == []
    counts = ledger.reliability
    assert not any((*counts._seen.values(), *counts._wrong.values(), *counts._settled.values()))


def test_votes_that_turn_an_answer_round_take_along_what_was_inferred_from_it() -> None:
    ledger = Ledger()
    ledger.take(
        [
            LoggedAnswer("a", 0, 0, 1, 1.0, "people", "ana"),
            LoggedAnswer("b", 1, 1, 2, 1.0, "people", "ana"),
            LoggedAnswer("i", 2, 0, 2, 1.0, INFERRED),
            LoggedAnswer("c", 0, 0, 1, 0.0, "people", "ben"),
        ]
    )
    assert ledger.disputed == [0]
    events = ledger.take([LoggedAnswer("d", 0, 0, 1, 0.0, "people", "cleo")])
    assert events == [Answer(0, 0, 1, 0.0), Answer(2, 0, 2, None)]
    assert (ledger.disputed, ledger.constraints.known(0, 1)) == ([], 0.0)


def test_a_doubtful_question_gets_more_votes_but_not_for_ever() -> None:
    rows = [LoggedAnswer(f"a{n}", 0, 0, 1, float(n % 2), "people", f"person {n}") for n in range(10)]
    ledger = Ledger(2)
    for number, row in enumerate(rows[: most_votes(2)], start=1):
        ledger.take([row])
        assert (ledger.wanted(0) > 0) == (number < most_votes(2))
    assert ledger.disputed == [0]


def test_several_ratings_are_averaged_and_an_overlap_out_of_range_is_refused() -> None:
    votes = [LoggedAnswer("a", 0, 0, 1, 0.25, "people", "ana"), LoggedAnswer("b", 0, 0, 1, 0.75, "people", "ben")]
    assert settle(votes, 2, Reliability(), rating=True).value == 0.5
    for overlap in (0, 6):
        with pytest.raises(InputError, match="must be 1 to 5"):
            Ledger(overlap)


def test_other_campaigns_take_over_what_votes_settled_and_take_it_back(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, QUESTIONS, overlap=2)
    neighbour = OtherCampaign(folder)

    def say(name: str, value: float, undoes: str | None = None) -> list[tuple[float | None, str | None]]:
        number = folder.log.answers().num_rows
        row = LoggedAnswer(f"a{number}", 0, 0, 1, None if undoes else value, "people", name, undoes)
        folder.log.append_answers(answers_table([row]))
        return [(r.value, r.undoes) for r in neighbour.new_answers()]

    assert say("ana", 1.0) == [], "one vote settles nothing yet"
    assert say("ben", 1.0) == [(1.0, None)]
    assert say("ben", 1.0, undoes="a1") == [(None, "c/a1/0")]
    rows = OtherCampaign(folder).new_answers()
    assert [r.id for r in rows] == ["c/a1/0", "c/a2/0/undo"], "whoever reads it again gets the same rows"
    assert all(row.question_id == OUTSIDE for row in rows)
