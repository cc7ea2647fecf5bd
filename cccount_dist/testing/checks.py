"""The promises of `cccount_dist.sampling.types.Sampler`, one check each: it takes a `SamplerCase` and raises `SamplerError`.

A campaign is recorded once, and copies of the sampler follow it with other calls that must not matter. Time and memory: a few
runs of the sampler over `case.questions` questions for each check.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence

from cccount_dist.clustering.result import Previewing
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import Reply, drive
from cccount_dist.sampling.freezing import freeze
from cccount_dist.sampling.frozen import UnfrozenError
from cccount_dist.sampling.packing import Packing, unpacked
from cccount_dist.sampling.questions.registry import question_kind
from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.thawing import thaw
from cccount_dist.sampling.types import (
    Answer,
    Knowing,
    OutsideAnswer,
    Question,
    Sampler,
    Withdrawing,
    WithdrawnAnswer,
    asked_at_once,
    tell_all,
)
from cccount_dist.testing.case import LIMITS, SamplerCase, follow, record, require_same, said
from cccount_dist.testing.difference import SamplerError, first_difference, show
from cccount_dist.testing.validity import check_result
from storage.errors import CorruptionError

Check = Callable[[SamplerCase], None]
UNSURE_OF_ALL = 0.3  # answers, in the check of unsure ones
LOOKS = 0.4  # calls before which somebody looks
READY = 10  # questions that lie ready where a campaign is imitated
LOADS, CHANGES = 0.3, 0.15  # how often it is loaded again, and how often somebody changes their mind
PREFIXES = 3  # of a log that are replayed, beside the empty and the whole one


def check_questions(case: SamplerCase) -> None:
    """Questions are numbered 0, 1, 2, …, about two different items that may be asked about; pages are whole, limits are kept."""
    sampler, chance, askable = case.make(), case.chance(), case.askable
    number, pages = 0, set[int]()
    while number < case.questions and (questions := sampler.ask(limit := chance.choice(LIMITS))):
        if asked_at_once(questions) > limit:
            raise SamplerError(f"ask({limit}) returned {asked_at_once(questions)} questions and pages")
        for question in questions:
            _check_question(question, number, case, askable)
            number += 1
        for page, about in _pages(questions).items():
            if page in pages:
                raise SamplerError(f"page {page} was cut in two: it came again in a later call of ask")
            if len({question.u for question in about}) > 1:
                raise SamplerError(f"page {page} is about several items u: {', '.join(map(show, about))}")
            if [question.id for question in about] != list(range(about[0].id, about[0].id + len(about))):
                raise SamplerError(f"page {page} is not in one piece: {', '.join(map(show, about))}")
            pages.add(page)
        sampler.tell([case.right(question) for question in questions])


def _check_question(question: Question, number: int, case: SamplerCase, askable: frozenset[int]) -> None:
    if question.id != number:
        raise SamplerError(f"{show(question)} came where question {number} was expected")
    if any(type(value) is not int for value in (question.id, question.u, question.v)):
        raise SamplerError(f"{show(question)} is not made of Python's own int: a log cannot keep it")
    if question.u == question.v:
        raise SamplerError(f"{show(question)} is about one item")
    for item in (question.u, question.v):
        if not 0 <= item < len(case.labels):
            raise SamplerError(f"{show(question)} is about item {item}, and there are {len(case.labels)}")
        if item not in askable:
            raise SamplerError(f"{show(question)} is about item {item}, which must not be asked about")
    kind = question_kind(question.kind)
    if kind.is_a_similarity if not case.rating else not kind.is_a_similarity:
        wanted = "one that is answered with a rating" if case.rating else "one that is answered same or different"
        raise SamplerError(f"{show(question)} is of kind {question.kind!r}, not {wanted}")


def _pages(questions: Sequence[Question]) -> dict[int, list[Question]]:
    found: dict[int, list[Question]] = {}
    for question in questions:
        if question.page is not None:
            found.setdefault(question.page, []).append(question)
    return found


def check_determinism(case: SamplerCase) -> None:
    """The same calls give the same questions and the same result, bit for bit, also while another copy is at work."""
    first = record(case)
    other = case.make()

    def ask(sampler: Sampler[object], limit: int) -> Sequence[Question]:
        questions = sampler.ask(limit)
        other.tell([said(question, None) for question in other.ask(1)])
        return questions

    follow(case, first, "in a second run")
    follow(case, first, "in a run beside another one", ask=ask)


def check_replay(case: SamplerCase) -> None:
    """Any prefix of a log, with late, changed, wrong and unsure answers, leads to a sampler that goes on in the same way."""
    recording, chance = record(case), case.chance(1)
    rounds, answers = recording.log()
    for stop in [0, *(chance.randrange(len(rounds) + 1) for _ in range(PREFIXES)), len(rounds)]:
        first = rounds[stop].after if stop < len(rounds) else len(answers)
        told = chance.randint(rounds[stop - 1].after if stop else 0, first)
        sampler = case.make()
        where = f"after a replay of {stop} rounds and {told} answers"
        try:
            replay(sampler, rounds[:stop], answers[:told])
            for one in rounds[stop:]:
                sampler.tell(answers[told : one.after])
                told = one.after
                require_same(one.questions, sampler.ask(asked_at_once(one.questions)), where)
            sampler.tell(answers[told:])
        except CorruptionError as error:
            raise SamplerError(f"{where}: {error}") from error
        if (found := first_difference(recording.result, sampler.result())) is not None:
            raise SamplerError(f"{where}, the result is another one: {found}")


def check_snapshot(case: SamplerCase) -> None:
    """A sampler out of a snapshot goes on as the one that was kept. One that no snapshot can keep is replayed instead."""
    recording, chance = record(case), case.chance(10)
    last = len(recording.steps) - 1
    some = sorted(chance.randrange(last + 1) for _ in range(PREFIXES))
    for stops in ({some[-1]}, {0, *some, last}):  # one that came so far by itself, and one that comes back again and again
        sampler, where = case.make(), "before any snapshot"
        for number, step in enumerate(recording.steps):
            require_same(step.questions, sampler.ask(step.limit), where)
            if number in stops:
                sampler, where = _kept(sampler), f"after a snapshot in step {number}"
            sampler.tell(step.answers)
            sampler = _kept(sampler) if number in stops else sampler
        if (found := first_difference(recording.result, sampler.result())) is not None:
            raise SamplerError(f"{where}, the result is another one: {found}")
        if sampler.done != recording.done:
            raise SamplerError(f"{where}, done is {sampler.done} and was {recording.done}")


def check_loaded(case: SamplerCase) -> None:
    """Loaded from its log or a snapshot at any moment it asks what the one in memory asks, and nothing where that asks nothing.

    A campaign keeps questions ready, takes back what has become needless, and writes only what was asked: that somebody wished
    for more in vain, or looked at a result, is in no log.
    """
    sampler, chance = case.make(), case.chance(11)
    rounds: list[Round] = []
    told: list[Answer] = []
    waiting: list[Question] = []
    asked: list[Question] = []
    taken_back: list[Question] = []

    def tell(answers: Sequence[Answer]) -> None:
        sampler.tell(answers)
        told.extend(answers)

    while len(asked) < case.questions:
        limit = max(READY - asked_at_once(waiting), 1)
        loaded = _loaded(case, sampler, rounds, told) if chance.random() < LOADS else []
        questions = sampler.ask(limit)
        for where, other in loaded:
            require_same(questions, other.ask(limit), f"after {len(rounds)} rounds and {len(told)} answers, {where}")
        if not questions and not waiting:
            break
        if questions:
            rounds.append(Round(len(rounds), len(told), questions))
        asked += questions
        waiting += questions
        chance.shuffle(waiting)
        now = [waiting.pop() for _ in range(chance.randint(0 if questions else 1, min(len(waiting), READY // 2)))]
        tell([case.mixed(question, chance) for question in now])
        if taken_back and chance.random() < CHANGES:  # somebody had it on the screen
            tell([case.mixed(taken_back.pop(), chance)])
        if chance.random() < CHANGES:
            tell([case.mixed(question, chance) for question in asked if question not in waiting and chance.random() < CHANGES])
        if chance.random() < LOOKS:
            sampler.result()
        if isinstance(sampler, Withdrawing):
            needless = set(sampler.needless())
            back = [question for question in waiting if question.id in needless]
            waiting = [question for question in waiting if question.id not in needless]
            taken_back += back
            tell([WithdrawnAnswer(question.id, question.u, question.v, None) for question in back])


def _loaded(
    case: SamplerCase, sampler: Sampler[object], rounds: Sequence[Round], told: Sequence[Answer]
) -> list[tuple[str, Sampler[object]]]:
    """Samplers that stand where this one stands, and how they came there."""
    replayed = case.make()
    try:
        replay(replayed, rounds, told)
    except CorruptionError as error:
        raise SamplerError(f"loaded from the log after {len(rounds)} rounds and {len(told)} answers: {error}") from error
    return [("one that was loaded from the log", replayed), ("one out of a snapshot", _kept(sampler))]


def _kept(sampler: Sampler[object]) -> Sampler[object]:
    """Return the sampler as it comes back from a disk; itself, if it cannot be kept."""
    rooms = (type(sampler).__module__,)
    try:
        frozen = freeze(sampler, rooms=rooms)
    except UnfrozenError:
        return sampler
    packing = Packing(frozen)
    blobs = {name: bytes(data) for name, data in packing.blobs()}
    found: Sampler[object] = thaw(unpacked(packing.names, packing.sums, blobs.__getitem__), rooms=rooms)
    return found


def check_batches(case: SamplerCase) -> None:
    """`ask(a)` and then `ask(b)` give the same questions as `ask(a + b)`, and `ask(0)` changes nothing."""
    chance = case.chance(2)

    def ask(sampler: Sampler[object], limit: int) -> Sequence[Question]:
        asked: list[Question] = []
        while limit > 0:
            piece = chance.randint(0, limit)
            asked += sampler.ask(piece)
            limit -= piece
        return asked

    follow(case, record(case), "when ask is called in pieces", ask=ask)
    whole, cut, empty = case.make(), case.make(), case.make()
    require_same(whole.ask(case.questions), ask(cut, case.questions), "when the first questions are asked in pieces")
    if found := empty.ask(0):
        raise SamplerError(f"ask(0) returned {show(found[0])}")


def check_tells(case: SamplerCase) -> None:
    """However answers come together between two questions, only their order counts; to be told nothing changes nothing."""
    chance = case.chance(3)

    def singly(sampler: Sampler[object], answers: Sequence[Answer]) -> None:
        for answer in answers:
            sampler.tell([answer])

    def in_pieces(sampler: Sampler[object], answers: Sequence[Answer]) -> None:
        while answers:
            piece = chance.randint(0, len(answers))
            sampler.tell(answers[:piece])
            answers = answers[piece:]
        sampler.tell([])

    recording = record(case)
    follow(case, recording, "when answers are told one by one", tell=singly)
    follow(case, recording, "when answers are told in pieces, and nothing is told in between", tell=in_pieces)


def check_retries(case: SamplerCase) -> None:
    """An answer that is told twice counts once."""

    def twice(sampler: Sampler[object], answers: Sequence[Answer]) -> None:
        sampler.tell(answers)
        sampler.tell(list({answer.question_id: answer for answer in answers}.values()))

    follow(case, record(case), "when answers are told twice", tell=twice)


def check_replaced(case: SamplerCase) -> None:
    """A second answer replaces the first: what was told and taken back before anything else was asked leaves no trace.

    With `replaces=False`, for a sampler whose docstring says what a replaced answer leaves behind, only that it goes on.
    """
    recording = record(case, fresh_only=True)
    for value, what in ((None, "unsure"), (1.0, "the opposite")):

        def tell(sampler: Sampler[object], answers: Sequence[Answer], value: float | None = value) -> None:
            before = [_instead(answer, value) for answer in answers]
            sampler.tell([told for pair in zip(before, answers, strict=True) for told in pair])

        if case.replaces:
            follow(case, recording, f"when each answer was {what} first", tell=tell)
        else:
            sampler = case.make()
            for questions in _rounds(case, sampler):
                tell(sampler, [case.right(question) for question in questions])
            _check_now(case, sampler)


def _instead(answer: Answer, value: float | None) -> Answer:
    """Return the answer that was told first: unsure, or the opposite."""
    other = None if value is None else 1.0 if answer.value is None else 1.0 - answer.value
    return Answer(answer.question_id, answer.u, answer.v, other)


def check_undo(case: SamplerCase) -> None:
    """Answers may be taken back late, unsure in place of a value: the sampler goes on, and its result counts what is left."""
    sampler, chance = case.make(), case.chance(4)
    asked: list[Question] = []
    for questions in _rounds(case, sampler):
        asked += questions
        back = [question for question in asked if chance.random() < UNSURE_OF_ALL]
        sampler.tell([*(case.right(question) for question in questions), *(said(question, None) for question in back)])
        sampler.tell([case.right(question) for question in back if chance.random() < UNSURE_OF_ALL])
    _check_now(case, sampler)
    sampler.tell([said(question, None) for question in asked])
    result = sampler.result()
    check_result(result, len(case.labels), case.askable)
    if isinstance(result, CountResult) and result.answers:
        raise SamplerError(f"every answer was taken back, and the result counts {result.answers}")


def check_unsure(case: SamplerCase) -> None:
    """With three unsure answers in ten it goes on; with nothing but unsure ones it asks, waits or is done, and counts none.

    An estimate is allowed: some methods draw an item itself now and then, which is the same without an answer.
    """
    for share in (UNSURE_OF_ALL, 1.0):
        sampler, chance = case.make(), case.chance(5)
        for questions in _rounds(case, sampler):
            sampler.tell([said(q, None) if chance.random() < share else case.right(q) for q in questions])
        result = _check_now(case, sampler)
        if share == 1.0 and isinstance(result, CountResult) and result.answers:
            raise SamplerError(f"nobody was sure of anything, and the result counts {result.answers} answers")


def check_order(case: SamplerCase) -> None:
    """Answers are taken in any order, and late; at the end, with all of them told, it asks on or is done."""
    sampler, chance = case.make(), case.chance(6)
    late: list[Question] = []
    for questions in _rounds(case, sampler, late):
        late += questions
        chance.shuffle(late)
        now, late[:] = late[len(late) // 2 :], late[: len(late) // 2]
        sampler.tell([case.right(question) for question in now])
    sampler.tell([case.right(question) for question in reversed(late)])
    _check_now(case, sampler)
    if not sampler.done and not sampler.ask(1):
        raise SamplerError("every question is answered, nothing is asked, and done is False: a campaign would wait for ever")


def check_implied(case: SamplerCase) -> None:
    """Nobody is asked what the answers imply, unless the purpose says vote or confirm; what is inferred is taken as an answer.

    With `own_closure` the sampler does not even propose such a question.
    """
    sampler, constraints = case.make(), Constraints()
    oracle = _Suspicious(case, constraints)
    proposed: list[Reply] = []
    tally = drive(
        sampler,
        oracle,
        budget=case.questions,
        items=len(case.askable),
        constraints=constraints,
        batch=3,
        on_batch=proposed.extend,
    )
    if case.own_closure and (implied := [reply.question for reply in proposed if reply.inferred]):
        raise SamplerError(f"{show(implied[0])} is implied by the answers before it")
    if tally.conflicts:
        raise SamplerError(f"right answers led to {tally.conflicts} contradictions")
    _check_now(case, sampler)


class _Suspicious:
    """Right answers, and an error for a question whose answer is known."""

    def __init__(self, case: SamplerCase, constraints: Constraints) -> None:
        self._case, self._constraints = case, constraints

    def answer(self, question: Question) -> float:
        if not question.is_vote and self._constraints.known(question.u, question.v) is not None:
            raise SamplerError(f"{show(question)} is implied, and somebody was asked it")
        return self._case.truth(question)


def check_looking(case: SamplerCase) -> None:
    """`result`, `done` and, where there is one, `preview` may be looked at any time: nothing that is asked changes by it."""

    def look(sampler: Sampler[object]) -> None:
        once = sampler.result()
        if not isinstance(sampler.done, bool):
            raise SamplerError(f"done is {sampler.done!r}: True or False")
        if isinstance(sampler, Previewing):
            sampler.preview(3)
        if (found := first_difference(once, sampler.result())) is not None:
            raise SamplerError(f"two looks at the result without a call in between differ: {found}")

    chance = case.chance(8)  # now and then: a result may take long

    def ask(sampler: Sampler[object], limit: int) -> Sequence[Question]:
        if chance.random() < LOOKS:
            look(sampler)
        return sampler.ask(limit)

    def tell(sampler: Sampler[object], answers: Sequence[Answer]) -> None:
        if chance.random() < LOOKS:
            look(sampler)
        sampler.tell(answers)

    follow(case, record(case), "when somebody looks at the result in between", ask=ask, tell=tell)


def check_done(case: SamplerCase) -> None:
    """Once it is done it asks nothing, and without new answers it stays done; asking in vain changes nothing."""
    sampler, chance, asked = case.make(), case.chance(9), 0
    while asked < case.questions:
        was_done = sampler.done
        questions = sampler.ask(chance.choice(LIMITS))
        if was_done and questions:
            raise SamplerError(f"done is True, and {show(questions[0])} is asked")
        if was_done and not sampler.done:
            raise SamplerError("done was True, and is False without a new answer")
        if not questions:
            break
        asked += len(questions)
        sampler.tell([case.right(question) for question in questions])
    if sampler.done:
        before = sampler.result()
        if more := [*sampler.ask(1), *sampler.ask(5)]:
            raise SamplerError(f"done is True, and {show(more[0])} is asked")
        sampler.tell([])
        if not sampler.done:
            raise SamplerError("done was True, and is False without a new answer")
        if (found := first_difference(before, sampler.result())) is not None:
            raise SamplerError(f"asking in vain changed the result: {found}")


def check_beginning(case: SamplerCase) -> None:
    """Before any question and before any answer there is a result: a campaign may have the budget 0."""
    sampler = case.make()
    if sampler is case.make():
        raise SamplerError("make() returned the same sampler twice: it must return a new one")
    first = sampler.result()
    check_result(first, len(case.labels), case.askable)
    sampler.ask(3)
    check_result(sampler.result(), len(case.labels), case.askable)
    drive(other := case.make(), _Suspicious(case, Constraints()), budget=0)
    if (found := first_difference(first, other.result())) is not None:
        raise SamplerError(f"with the budget 0 the result is another one: {found}")


def check_knowledge(case: SamplerCase) -> None:
    """One that has `know`: however knowledge comes together, only its order counts; and its result is a result."""
    if not isinstance(case.make(), Knowing):
        return
    chance = case.chance(8)
    pairs = [tuple(chance.sample(sorted(case.askable), 2)) for _ in range(case.questions)]
    values = [float(case.labels[u] == case.labels[v]) if chance.random() < 0.9 else None for u, v in pairs]
    known = [OutsideAnswer(-1, u, v, value) for (u, v), value in zip(pairs, values, strict=True)]

    def led(pieces: Sequence[Sequence[OutsideAnswer]]) -> tuple[list[Question], object]:
        sampler, asked = case.make(), list[Question]()
        for piece in pieces:
            tell_all(sampler, piece)
        for questions in _rounds(case, sampler):
            asked += questions
            sampler.tell([case.right(question) for question in questions])
        return asked, _check_now(case, sampler)

    at_once, singly = led([known]), led([[one] for one in known])
    require_same(at_once[0], singly[0], "when knowledge is told piece by piece")
    if (found := first_difference(at_once[1], singly[1])) is not None:
        raise SamplerError(f"when knowledge is told piece by piece, the result is another one: {found}")


def check_costs(case: SamplerCase) -> None:
    """The docstring of its class, of a class that it inherits from, or of their modules says how memory and time grow."""
    classes = [one for one in type(case.make()).__mro__ if one.__module__ not in ("builtins", "typing", "abc")]
    texts = [text for one in classes for text in (one.__doc__, getattr(sys.modules.get(one.__module__), "__doc__", None)) if text]
    for word in ("memory", "time"):
        if not any(re.search(rf"\b{word}\b", text, re.IGNORECASE) for text in texts):
            raise SamplerError(f"the docstring of {classes[0].__name__}, or of its module, does not say what {word} it takes")


def _rounds(case: SamplerCase, sampler: Sampler[object], waiting: Sequence[Question] = ()) -> Iterator[Sequence[Question]]:
    """Yield what is asked, a few at a time, until enough is, or nothing is asked and nothing waits for an answer."""
    chance, asked = case.chance(7), 0
    while asked < case.questions and ((questions := sampler.ask(chance.choice(LIMITS))) or waiting):
        asked += len(questions)
        yield questions


def _check_now(case: SamplerCase, sampler: Sampler[object]) -> object:
    result = sampler.result()
    check_result(result, len(case.labels), case.askable)
    return result


CHECKS: dict[str, Check] = {
    "questions": check_questions,
    "determinism": check_determinism,
    "replay": check_replay,
    "snapshot": check_snapshot,
    "loaded": check_loaded,
    "batches": check_batches,
    "tells": check_tells,
    "order": check_order,
    "retries": check_retries,
    "replaced": check_replaced,
    "undo": check_undo,
    "unsure": check_unsure,
    "implied": check_implied,
    "looking": check_looking,
    "done": check_done,
    "beginning": check_beginning,
    "knowledge": check_knowledge,
    "costs": check_costs,
}
