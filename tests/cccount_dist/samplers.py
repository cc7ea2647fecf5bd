"""Small collections and answers for the tests of samplers."""

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.result import CountResult
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
