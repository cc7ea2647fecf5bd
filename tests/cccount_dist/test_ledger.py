"""The ledger against a slow reading of the whole log: what is settled, what is told, what an undo takes with it."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.sampling.ledger import INFERRED, OUTSIDE, Ledger, LoggedAnswer
from cccount_dist.sampling.types import Answer, Question

PAIRS = list(itertools.combinations(range(4), 2))
QUESTIONS = [Question(i, u, v) for i, (u, v) in enumerate(PAIRS)]


@st.composite
def logs(draw: st.DrawFn) -> list[LoggedAnswer]:
    """Answers of several people to six questions, with unsure ones, answers from outside, and undos."""
    rows: list[LoggedAnswer] = []
    for number in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(["answer", "answer", "answer", "outside", "undo"]))
        question = draw(st.sampled_from(QUESTIONS))
        if kind == "undo" and rows:
            undone = draw(st.sampled_from(rows))
            rows.append(LoggedAnswer(f"a{number}", undone.question_id, undone.u, undone.v, None, "people", "x", undone.id))
            continue
        value = draw(st.sampled_from([0.0, 1.0, None]))
        question_id = OUTSIDE if kind == "outside" else question.id
        rows.append(LoggedAnswer(f"a{number}", question_id, question.u, question.v, value, "people", "x"))
    return rows


def settled_slowly(rows: list[LoggedAnswer]) -> dict[int, float | None]:
    """The first answer to each question that was not taken back."""
    undone: set[str] = set()
    for row in rows:
        target = next((r for r in rows if r.id == row.undoes), None)
        if target is not None and target.undoes is None:
            undone.add(target.id)
    settled: dict[int, float | None] = {}
    for row in rows:
        if row.undoes is None and row.id not in undone and row.question_id != OUTSIDE:
            settled.setdefault(row.question_id, row.value)
    return settled


@given(logs())
@settings(max_examples=300, deadline=None)
def test_what_the_sampler_was_told_is_what_the_log_says(rows: list[LoggedAnswer]) -> None:
    ledger = Ledger()
    told: dict[int, float | None] = {}
    for event in ledger.take(rows):
        told[event.question_id] = event.value
    expected = settled_slowly(rows)
    answered = {number for number in told if ledger.is_answered(number)}
    assert answered == set(expected)
    assert {number: told[number] for number in answered} == expected
    # A question that lost its last answer was told as unsure, and waits again.
    assert all(told[number] is None for number in set(told) - answered)
    assert [q.id for q in ledger.pending(QUESTIONS)] == [q.id for q in QUESTIONS if q.id not in expected]
    assert ledger.position == len(rows)
    assert ledger.questions == len(expected)


@given(logs(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_reading_in_pieces_gives_the_same_events(rows: list[LoggedAnswer], piece: int) -> None:
    whole, pieces = Ledger(), Ledger()
    events = whole.take(rows)
    collected: list[Answer] = []
    for start in range(0, len(rows), piece):
        collected += pieces.take(rows[start : start + piece])
    assert collected == events
    assert pieces.contradictions == whole.contradictions


def test_an_undo_takes_what_was_inferred_from_it_along() -> None:
    ledger = Ledger()
    ledger.take(
        [
            LoggedAnswer("a", 0, 0, 1, 1.0, "people"),
            LoggedAnswer("b", 1, 1, 2, 1.0, "people"),
            LoggedAnswer("i", 2, 0, 2, 1.0, INFERRED),
        ]
    )
    assert (ledger.questions, ledger.inferred) == (2, 1)
    events = ledger.take([LoggedAnswer("c", 0, 0, 1, None, "people", undoes="a")])
    assert events == [Answer(0, 0, 1, None), Answer(2, 0, 2, None)]
    assert (ledger.questions, ledger.inferred) == (1, 0)
    assert ledger.constraints.known(0, 2) is None


def test_an_inferred_answer_stays_while_another_path_implies_it() -> None:
    ledger = Ledger()
    ledger.take(
        [
            LoggedAnswer("a", 0, 0, 1, 1.0, "people"),
            LoggedAnswer("a2", 0, 0, 1, 1.0, "people", "ben"),
            LoggedAnswer("b", 1, 1, 2, 1.0, "people"),
            LoggedAnswer("i", 2, 0, 2, 1.0, INFERRED),
        ]
    )
    assert ledger.take([LoggedAnswer("c", 0, 0, 1, None, "people", undoes="a")]) == [Answer(0, 0, 1, 1.0)]
    assert (ledger.questions, ledger.inferred) == (2, 1)


def test_two_people_who_disagree_are_a_contradiction_and_the_first_counts() -> None:
    ledger = Ledger()
    first = LoggedAnswer("a", 0, 0, 1, 1.0, "people", "ana")
    events = ledger.take([first, LoggedAnswer("b", 0, 0, 1, 0.0, "people", "ben")])
    assert events == [Answer(0, 0, 1, 1.0)]
    assert ledger.settled(0) == first
    assert ledger.contradictions == 1


def test_a_rating_of_exactly_0_or_1_is_no_link() -> None:
    ledger = Ledger()
    ledger.know([Question(0, 0, 1, "rating"), Question(1, 0, 1, "rating"), Question(2, 2, 3)])
    ledger.take([LoggedAnswer("a", 0, 0, 1, 1.0, "people"), LoggedAnswer("b", 1, 0, 1, 0.0, "people")])
    ledger.take([LoggedAnswer("c", 2, 2, 3, 1.0, "people")])
    assert (ledger.constraints.known(0, 1), ledger.constraints.known(2, 3)) == (None, 1.0)
    assert ledger.contradictions == 0
    ledger.take([LoggedAnswer("d", 0, 0, 1, None, "people", undoes="a")])
    assert [q.id for q in ledger.pending([Question(0, 0, 1, "rating")])] == [0]
