"""A campaign that goes on with another sampler: what was asked and answered before is known to it, and nothing is asked again.

The log numbers questions, rounds and pages through all epochs; a sampler numbers its own from 0. Old answers reach the new
sampler in two ways: through the closure, as answers of other campaigns do, and, pair by pair, when it asks what somebody answered
before: each vote of an earlier epoch answers one question of this one, for free (source `epoch ID`). Memory and time: the answers
of earlier epochs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from cccount_dist.campaign.inputs import Inputs
from cccount_dist.sampling.ledger import EPOCH, OUTSIDE, Ledger, LoggedAnswer
from cccount_dist.sampling.replay import Round
from cccount_dist.sampling.types import Answer, Question
from storage.epochs import Epoch
from storage.version import __version__

Pair = tuple[int, int, str]
KNOWLEDGE = 1  # how what is known reaches the samplers of new campaigns and epochs (`storage/epochs.py`)


_CHANGED = {"degree": "other neighbours", "matches": "local matches", "sides": "other sides"}


def changed_inputs(epoch: Epoch, inputs: Inputs) -> str | None:
    """Say what is no longer as it was in the epoch: items, vectors, neighbours, local matches or sides; None if everything is."""
    before = epoch.fingerprints or {}
    others = [name for name, expected in before.items() if inputs.fingerprints.get(name) != expected]
    if before:
        others += [name for name in ("matches", "sides") if name in inputs.fingerprints and name not in before]
    if not others:
        return None
    more = inputs.countable - (epoch.items or inputs.countable)
    if more:
        said = f"{abs(more):,} item{'' if abs(more) == 1 else 's'} {'more' if more > 0 else 'fewer'}, {inputs.countable:,} in all"
    elif "embeddings" in others:
        said = "other vectors"
    else:
        said = next((words for name, words in _CHANGED.items() if name in others), "other items")
    return f"{said} ({inputs.described})" if inputs.described else said


def next_epoch(
    before: Epoch,
    revision: int,
    reason: str,
    rounds: Sequence[Round],
    answers: int,
    inputs: Inputs,
    found: dict[str, float] | None = None,
) -> Epoch:
    """Return the epoch that begins at the end of this log; `found`: what the campaign has come to."""
    questions = [question for one in rounds for question in one.questions]
    return Epoch(
        number=before.number + 1,
        revision=revision,
        reason=reason,
        opened_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        questions=len(questions),
        answers=answers,
        rounds=len(rounds),
        pages=1 + max((question.page for question in questions if question.page is not None), default=-1),
        items=inputs.countable,
        fingerprints=inputs.fingerprints,
        knowledge=KNOWLEDGE,
        found=found,
    )


def epoch_words(epochs: Sequence[Epoch]) -> str | None:
    """Say since when another sampler asks than the campaign was started with, and why; None if none does."""
    last = epochs[-1]
    return None if not last.number else f"epoch {last.number + 1} since {last.opened_at}: {last.reason}"


def to_sampler(epoch: Epoch, events: Iterable[Answer]) -> list[Answer]:
    """What the epoch's sampler is told: answers to its own questions, by its own numbers."""
    return [
        replace(event, question_id=event.question_id - epoch.questions) if event.question_id >= epoch.questions else event
        for event in events
        if event.question_id == OUTSIDE or event.question_id >= epoch.questions
    ]


def to_log(epoch: Epoch, questions: Iterable[Question]) -> list[Question]:
    """The sampler's questions by the numbers of the log."""
    return [
        replace(one, id=one.id + epoch.questions, page=None if one.page is None else one.page + epoch.pages) for one in questions
    ]


def from_log(epoch: Epoch, one: Round) -> Round:
    """A round of the log by the sampler's numbers."""
    questions = [
        replace(q, id=q.id - epoch.questions, page=None if q.page is None else q.page - epoch.pages) for q in one.questions
    ]
    return Round(one.number - epoch.rounds, one.after, questions)


class Earlier:
    """What people said in earlier epochs, to be said again when it is asked again; every vote once in each epoch."""

    def __init__(self, epoch: Epoch, questions: Sequence[Question]) -> None:
        self._first = epoch.questions
        self._questions: dict[Pair, list[int]] = {}  # of earlier epochs, by what they are about
        for question in questions[: epoch.questions]:
            self._questions.setdefault(_pair(question), []).append(question.id)

    def answer(self, question: Question, ledger: Ledger, used: set[str], *, answer_id: str) -> LoggedAnswer | None:
        """Return the row that answers a question of this epoch; None if nobody has answered it before.

        `used`: votes that were given away and are not in the ledger yet.
        """
        for earlier in self._questions.get(_pair(question), ()):
            for vote in ledger.votes(earlier):
                if vote.id not in used and not ledger.is_recalled_again(vote.id, self._first):
                    used.add(vote.id)
                    source = f"{EPOCH} {vote.id}"
                    return LoggedAnswer(answer_id, question.id, question.u, question.v, vote.value, source, vote.annotator)
        return None


def _pair(question: Question) -> Pair:
    return min(question.u, question.v), max(question.u, question.v), question.kind
