"""Small collections and answers for the tests of samplers."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.replay import Round, replay
from cccount_dist.sampling.types import Answer, Question, Sampler
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.rows import degree

Labels = NDArray[np.int64]


def blobs(sizes: tuple[int, ...], dimensions: int = 6, noise: float = 0.6, seed: int = 0) -> tuple[NDArray[np.float32], Labels]:
    """Return prepared vectors and labels of clusters that overlap."""
    random = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    centres = random.standard_normal((len(sizes), dimensions))
    x = centres[labels] + noise * random.standard_normal((len(labels), dimensions))
    return prepare(x.astype(np.float32), "cosine"), labels


def counter(vectors: NDArray[np.float32], method: str = "nis", seed: int = 0, level: float = 0.95) -> Sampler[CountResult]:
    return make_counter(method, vectors=vectors, degree=degree(vectors), seed=seed, level=level)


def answered(questions: list[Question], labels: Labels) -> list[Answer]:
    return [Answer(q.id, q.u, q.v, float(labels[q.u] == labels[q.v])) for q in questions]


def mostly_right(question: Question, labels: Labels, chance: random.Random) -> Answer:
    """Somebody who is unsure now and then, and wrong now and then."""
    luck = chance.random()
    value = None if luck < 0.2 else float((labels[question.u] == labels[question.v]) != (luck < 0.3))
    return Answer(question.id, question.u, question.v, value)


@dataclass
class Played:
    """What a log has after a part of a campaign."""

    rounds: list[Round] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)

    def resumed(self, sampler: Sampler[Any]) -> Sampler[Any]:
        """A fresh sampler, brought to where the log ends."""
        replay(sampler, self.rounds, self.answers)
        return sampler


def play(
    live: Sampler[Any],
    cuts: Iterable[tuple[int, int]],
    labels: Labels,
    chance: random.Random,
    after_each: Callable[[Played], None] = lambda _: None,
) -> Played:
    """Ask and answer by turns, so many each: people answer one by one, in any order, and change their minds."""
    log = Played()
    for asked, given_back in cuts:
        if found := live.ask(asked):  # a call without questions is not in the log
            log.rounds.append(Round(len(log.rounds), len(log.answers), found))
            log.questions += found
        for _ in range(given_back if log.questions else 0):
            reply = mostly_right(chance.choice(log.questions), labels, chance)
            live.tell([reply])
            log.answers.append(reply)
        live.tell([])
        after_each(log)
    return log


def enough(runs: int, level: float) -> int:
    """The smallest number of hits that is not surprising at this coverage, once in ten thousand."""
    return int(binom.ppf(1e-4, runs, level))
