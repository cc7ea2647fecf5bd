"""Small collections, samplers and answers for the tests of grouping."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from cccount_dist.clustering.methods import GroupingInputs, make_grouper
from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.types import Answer, Question, Sampler
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare

Labels = NDArray[np.int64]
Vectors = NDArray[np.float32]


def digits() -> tuple[Vectors, Labels]:
    x, y = load_digits(return_X_y=True)
    return prepare(x.astype(np.float32), "cosine"), y.astype(np.int64)


def grouper(vectors: Vectors, method: str = "evidence", k: int = 50) -> Sampler[Grouping]:
    usable = int(np.isfinite(vectors).all(axis=1).sum())
    found = neighbors_in_memory(vectors, min(k, usable - 1))
    return make_grouper(method, GroupingInputs(vectors, found.index, found.similarity, seed=0))


def replies(questions: Sequence[Question], labels: Labels) -> list[Answer]:
    return [Answer(q.id, q.u, q.v, float(labels[q.u] == labels[q.v])) for q in questions]


def answer_all(sampler: Sampler[Grouping], labels: Labels, budget: int, batch: int = 1) -> int:
    """Ask and answer up to `budget` questions; return how many were asked."""
    asked = 0
    while asked < budget and (questions := sampler.ask(min(batch, budget - asked))):
        sampler.tell(replies(questions, labels))
        asked += len(questions)
    return asked
