"""The loop of sampler and oracle: what is free, what is paid for, and why it ends."""

from collections.abc import Sequence

import pytest

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import Reply, answer_batch, drive
from cccount_dist.sampling.oracles import FunctionOracle, LabelOracle
from cccount_dist.sampling.types import Answer, Question
from tests.cccount_dist.samplers import blobs, counter

VECTORS, LABELS = blobs((20, 15, 10, 5))
ITEMS = len(LABELS)


class Counting:
    """True labels, and a list of the pairs that were asked."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int]] = []

    def answer(self, question: Question) -> float | None:
        self.pairs.append((question.u, question.v))
        return float(LABELS[question.u] == LABELS[question.v])


def test_no_pair_that_is_known_reaches_the_oracle_and_free_answers_are_true() -> None:
    oracle, replies = Counting(), list[Reply]()
    tally = drive(counter(VECTORS), oracle, budget=80, on_batch=replies.extend)
    assert tally.questions == len(oracle.pairs) == 80
    assert len({frozenset(pair) for pair in oracle.pairs}) == 80
    assert tally.inferred == sum(reply.inferred for reply in replies) > 0
    assert [reply.question.id for reply in replies] == list(range(80 + tally.inferred))
    assert all(reply.value == float(LABELS[reply.question.u] == LABELS[reply.question.v]) for reply in replies)
    assert tally.stopped == "budget"


def test_the_size_of_a_batch_changes_nothing() -> None:
    outcomes = []
    for batch in (1, 7, 256):
        sampler = counter(VECTORS)
        tally = drive(sampler, LabelOracle(LABELS, error_rate=0.1), budget=70, batch=batch)
        outcomes.append((tally, sampler.result(), sampler.ask(1)))
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_a_larger_budget_begins_with_the_questions_of_the_smaller_one() -> None:
    small, large = Counting(), Counting()
    drive(counter(VECTORS), small, budget=60)
    drive(counter(VECTORS), large, budget=80)
    assert large.pairs[:60] == small.pairs


def test_a_budget_of_0_asks_nothing() -> None:
    oracle = Counting()
    tally = drive(counter(VECTORS), oracle, budget=0)
    assert (tally.questions, tally.inferred, tally.stopped, oracle.pairs) == (0, 0, "budget", [])


def test_it_ends_when_every_pair_is_known() -> None:
    closure = Constraints()
    tally = drive(counter(VECTORS), Counting(), budget=100_000, items=ITEMS, constraints=closure)
    assert tally.stopped == "complete"
    assert closure.clusters(ITEMS) == 4


def test_free_answers_cannot_go_on_for_ever() -> None:
    closure = Constraints()
    for item in range(1, ITEMS):
        closure.add(0, item, 1.0, f"known-{item}")
    tally = drive(counter(VECTORS), Counting(), budget=5, constraints=closure)
    assert (tally.questions, tally.inferred, tally.stopped) == (0, 1050, "inferred")


def test_an_unsure_answer_costs_a_question_and_does_not_enter_the_closure() -> None:
    closure = Constraints()
    sampler = counter(VECTORS)
    tally = drive(sampler, FunctionOracle(lambda _u, _v: None), budget=40, constraints=closure)
    assert (tally.questions, tally.unsure, len(closure)) == (40, 40, 0)
    result = sampler.result()
    assert (result.estimate, result.low, result.high, result.answers) == (None, 1.0, ITEMS, 0)


def test_progress_ends_at_the_budget() -> None:
    steps: list[tuple[int, int]] = []
    drive(counter(VECTORS), Counting(), budget=50, batch=20, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (50, 50)
    assert steps == sorted(steps)


class Short:
    """Asks three questions, then waits for ever; or says that it is done."""

    def __init__(self, kind: str, *, ends: bool) -> None:
        self.kind, self.ends, self.asked, self.told = kind, ends, 0, list[Answer]()

    @property
    def done(self) -> bool:
        return self.ends and self.asked == 3

    def ask(self, limit: int) -> Sequence[Question]:
        start, self.asked = self.asked, min(3, self.asked + limit)
        return [Question(n, 0, 1, "rating" if self.kind == "rating" else "same") for n in range(start, self.asked)]

    def tell(self, answers: Sequence[Answer]) -> None:
        self.told += answers

    def result(self) -> int:
        return len(self.told)


@pytest.mark.parametrize(("ends", "stopped"), [(True, "done"), (False, "waiting")])
def test_a_sampler_that_is_done_or_waits_ends_the_loop(ends: bool, stopped: str) -> None:
    sampler = Short("same", ends=ends)
    tally = drive(sampler, Counting(), budget=9)
    assert (tally.questions, tally.inferred, tally.stopped, sampler.result()) == (1, 2, stopped, 3)


def test_ratings_are_always_asked_and_never_enter_the_closure() -> None:
    closure = Constraints()
    closure.add(0, 1, 1.0, "a")
    replies = answer_batch(Short("rating", ends=True).ask(3), closure, FunctionOracle(lambda _u, _v: 0.25))
    assert [(reply.value, reply.inferred) for reply in replies] == [(0.25, False)] * 3
    assert len(closure) == 1


def test_the_links_of_a_batch_carry_the_ids_of_its_answers() -> None:
    closure = Constraints()
    answer_batch([Question(8, 0, 1)], closure, Counting(), answer_id=lambda question: f"census/{question.id}")
    assert closure.why(0, 1) == ["census/8"]


def test_known_labels_with_lies_give_no_conflict_because_known_pairs_are_not_asked() -> None:
    tally = drive(counter(VECTORS), LabelOracle(LABELS, error_rate=0.2, seed=1), budget=200)
    assert tally.conflicts == 0
