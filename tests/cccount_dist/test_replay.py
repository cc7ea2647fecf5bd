"""A campaign is its log: any prefix of it, replayed, asks the same next question and gives the same result, bit for bit."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.types import Answer, Question
from storage.errors import CorruptionError
from tests.cccount_dist.samplers import answered, blobs, counter

VECTORS, LABELS = blobs((9, 6, 4, 2, 1))
METHODS = st.sampled_from(["nis", "nested-mc", "nis-released", "nested-mc-released"])


@settings(max_examples=40, deadline=None)
@given(METHODS, st.integers(0, 2**40), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), max_size=8), st.randoms())
def test_any_prefix_of_a_log_leads_to_the_same_question_and_the_same_result(
    method: str, seed: int, cuts: list[tuple[int, int]], chance: random.Random
) -> None:
    live = counter(VECTORS, method, seed)
    rounds: list[Round] = []
    questions: list[Question] = []
    answers: list[Answer] = []
    for number, (asked, given_back) in enumerate(cuts):
        rounds.append(Round(number, len(answers), live.ask(asked)))
        questions += rounds[-1].questions
        if questions:
            # People answer in any order, are unsure, and change their minds: a question may come up again.
            replies = [_answer(chance.choice(questions), chance.random()) for _ in range(given_back)]
            live.tell(replies)
            answers += replies
        again = counter(VECTORS, method, seed)
        replay(again, rounds, answers)
        assert repr(again.result()) == repr(live.result())
    following = live.ask(3)
    for stop, one in enumerate(rounds):
        prefix = counter(VECTORS, method, seed)
        replay(prefix, rounds[:stop], answers[: one.after])
        assert prefix.ask(len(one.questions)) == one.questions
    again = counter(VECTORS, method, seed)
    replay(again, rounds, answers)
    assert again.ask(3) == following


def _answer(question: Question, chance: float) -> Answer:
    value = None if chance < 0.2 else float((LABELS[question.u] == LABELS[question.v]) != (chance < 0.3))
    return Answer(question.id, question.u, question.v, value)


@settings(max_examples=30, deadline=None)
@given(METHODS, st.integers(0, 1000), st.lists(st.integers(0, 90), max_size=6))
def test_batches_and_budgets_cut_one_and_the_same_sequence(method: str, seed: int, batches: list[int]) -> None:
    whole = counter(VECTORS, method, seed).ask(600)
    sampler = counter(VECTORS, method, seed)
    cut = [question for batch in batches for question in sampler.ask(batch)]
    assert cut == list(whole[: sum(batches)])
    assert [question.id for question in whole] == list(range(600))


def log_of(questions: int) -> tuple[list[Round], list[Answer]]:
    asked = list(counter(VECTORS).ask(questions))
    return [Round(0, 0, asked)], answered(asked, LABELS)


def test_a_log_of_other_inputs_is_recognised_at_its_first_question_that_differs() -> None:
    rounds, answers = log_of(20)
    wrong = replace(rounds[0].questions[17], v=21 if rounds[0].questions[17].v != 21 else 20)
    expected = rounds[0].questions[17]
    damaged = Round(0, 0, [*rounds[0].questions[:17], wrong, *rounds[0].questions[18:]])
    with pytest.raises(CorruptionError) as caught:
        replay(counter(VECTORS), [damaged], answers)
    assert str(caught.value) == (
        f"question 17 was ({wrong.u}, {wrong.v}), this sampler asks ({expected.u}, {expected.v}): the log belongs to other inputs"
    )
    with pytest.raises(CorruptionError, match="this sampler asks"):
        replay(counter(VECTORS, seed=1), rounds, answers)
    with pytest.raises(CorruptionError, match="purpose"):
        replay(counter(VECTORS), [Round(0, 0, [replace(rounds[0].questions[0], purpose="other")])], [])


@pytest.mark.parametrize("after", [[0, 25], [10, 5]])
def test_a_round_after_answers_that_the_log_does_not_have_is_damage(after: list[int]) -> None:
    questions = list(counter(VECTORS).ask(30))
    rounds = [Round(0, 0, questions[:20]), *(Round(1 + i, a, questions[20 + i : 21 + i]) for i, a in enumerate(after))]
    with pytest.raises(CorruptionError, match="round 2 was asked after"):
        replay(counter(VECTORS), rounds, answered(questions[:20], LABELS))


class Silent:
    """A sampler that has nothing to ask."""

    done = True

    def ask(self, limit: int) -> list[Question]:
        return []

    def tell(self, answers: object) -> None: ...

    def result(self) -> None: ...


def test_a_sampler_that_asks_less_than_the_log_says_is_recognised() -> None:
    rounds, answers = log_of(3)
    with pytest.raises(CorruptionError, match=r"question 0 was .* asks nothing more"):
        replay(Silent(), rounds, answers)
