"""`apc --preset paper` against algorithms 1 to 3 of the paper, written out with an N × N matrix P and a state matrix S."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from cccount_dist.clustering.apc.fpc import fpc
from cccount_dist.clustering.apc.probability import fit_map, neighbor_pairs
from cccount_dist.clustering.elbow import kmeans_elbow
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, make_grouper
from cccount_dist.clustering.present import PresentRows
from cccount_dist.clustering.result import numbered
from cccount_dist.sampling.methods import PAPER
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.errors import InputError
from storage.settings import Scalar
from tests.cccount_dist.samplers import blobs

Matrix = NDArray[np.float64]
Pairs = list[tuple[int, int]]
SEED, NEAREST, EPSILON = 3, 4, math.exp(-4)
SETTINGS = [(0.1, 0.7), (0.3, 0.95), (0.05, 0.3)]


class Transcription:
    """Everything as the paper writes it; only FPC, which it takes from elsewhere, is ours."""

    def __init__(
        self, vectors: NDArray[np.float32], truth: NDArray[np.int64], classes: int, level: float | None, tau: float
    ) -> None:
        self.truth, self.tau = truth, tau
        n = len(vectors)
        found = neighbors_in_memory(vectors, min(8, n - 1)).index
        rows = PresentRows(vectors, found, np.arange(n))
        pseudo = kmeans(rows.vectors, classes, seed=SEED).labels
        x = vectors.astype(np.float64)
        self.d = np.sqrt(np.maximum(((x[:, None] - x) ** 2).sum(axis=2), 0))
        i, j = np.repeat(np.arange(n), found.shape[1]), found.ravel()
        same = (pseudo[i] == pseudo[j]).astype(float)
        model = IsotonicRegression(increasing=False, y_min=0, y_max=1, out_of_bounds="clip").fit(self.d[i, j], same)
        self.p = np.clip(model.predict(self.d.ravel()).reshape(n, n), 1e-4, 1 - 1e-4)
        sample = neighbor_pairs(rows.vectors, rows.neighbors)
        labels = fpc(rows.vectors, rows.neighbors, fit_map(sample.squared, pseudo[sample.first] == pseudo[sample.second]))
        self.omega = {int(c): np.flatnonzero(labels == c).tolist() for c in np.unique(labels)}
        self.state = np.eye(n, dtype=int)
        self.asked: Pairs = []
        self.merged = self.split = 0
        self.level = self.appendix_c1() if level is None else level

    def appendix_c1(self) -> float:
        """The level that recalls about as many pairs as FPC has clusters (its outliers are none); of two the higher one."""
        clusters = [w for w in self.omega.values() if len(w) > 1]
        plus = [self.plus(a, b) for place, a in enumerate(clusters) for b in clusters[place + 1 :]]
        away = {level: abs(sum(p > level for p in plus) - len(clusters)) for level in (0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)}
        return max(level for level in away if away[level] == min(away.values()))

    def query(self, u: int, v: int) -> bool:
        if self.state[u, v] == 0:
            self.asked.append((u, v))
            self.state[u, v] = self.state[v, u] = 1 if self.truth[u] == self.truth[v] else -1
            self.algorithm_3(u, v)
            off = ~np.eye(len(self.p), dtype=bool)
            self.p[off & (self.state == 1)] = 1 - EPSILON
            self.p[off & (self.state == -1)] = EPSILON
        return bool(self.state[u, v] == 1)

    def algorithm_3(self, s: int, t: int) -> None:
        for i in (s, t):
            must, cannot = np.flatnonzero(self.state[i] == 1), np.flatnonzero(self.state[i] == -1)
            self.state[np.ix_(must, must)] = 1
            self.state[np.ix_(must, cannot)] = -1
            self.state[np.ix_(cannot, must)] = -1

    def plus(self, a: list[int], b: list[int]) -> float:
        """Equation 4."""
        if len(a) > len(b):
            a, b = b, a
        chosen = [self.p[s, t] for s in a for t in sorted(b, key=lambda t, s=s: (self.d[s, t], t))[:NEAREST]]  # type: ignore[misc]
        return float(sum(chosen) / (sum(chosen) + sum(1 - one for one in chosen)))

    def centre(self, w: list[int]) -> list[int]:
        l = {i: sum(math.log(self.p[i, j] / (1 - self.p[i, j])) for j in w if j != i) for i in w}  # noqa: E741
        return sorted(w, key=lambda i: (-round(l[i], 9), i))

    def passes(self, w: list[int]) -> bool:
        total, count, s = 0.0, 0, len(w)
        if s == 1:
            return True
        for i in w:
            ranked = sorted((j for j in w if j != i), key=lambda j: -self.p[i, j])
            ranked.insert(0, i)
            for j in ranked[s // 2 : s // 2 + int(math.sqrt(s)) + 1]:
                total, count = total + self.p[i, j], count + 1
        if total / count > self.tau:
            return True
        first = self.centre(w)[0]
        ranked = [first, *sorted((j for j in w if j != first), key=lambda j: (-self.p[first, j], j))]
        low, high = int(0.5 * s), int(0.7 * s)
        at = np.random.default_rng([SEED, first, s]).integers(max(low, 1), max(high, low, 1) + 1)
        return self.query(first, ranked[at])

    def algorithm_2(self, w: list[int]) -> list[list[int]]:
        parts: list[list[int]] = []
        for i in self.centre(w):
            closest = [min(part, key=lambda j, part=part: (self.d[i, j], part.index(j))) for part in parts]  # type: ignore[misc]
            for place in sorted(range(len(parts)), key=lambda at: (self.d[i, closest[at]], at)):
                if self.query(i, closest[place]):
                    parts[place].append(i)
                    break
            else:
                parts.append([i])
        return parts

    def algorithm_1(self, epochs: int = 2) -> None:
        became: dict[int, int] = {}

        def now(c: int) -> int:
            while c in became:
                c = became[c]
            return c

        following = max(self.omega) + 1
        for _ in range(epochs):
            numbers = sorted(c for c, w in self.omega.items() if len(w) > 1)
            recalled = []
            for place, a in enumerate(numbers):
                for b in numbers[place + 1 :]:
                    p = self.plus(self.omega[a], self.omega[b])
                    x, y = len(self.omega[a]), len(self.omega[b])
                    drop = ((x + y) * math.log(x + y) - x * math.log(x) - y * math.log(y)) / len(self.p)
                    if p > self.level:
                        recalled.append((-p * drop, a, b))
            for _, a, b in sorted(recalled, key=lambda one: (round(one[0], 12), one[1], one[2])):
                one, other = now(a), now(b)
                if one not in self.omega or other not in self.omega or one == other:
                    continue
                failed = [c for c in (one, other) if not self.passes(self.omega[c])]
                for c in failed:
                    self.split += 1
                    for part in self.algorithm_2(self.omega.pop(c)):
                        self.omega[following] = sorted(part)
                        following += 1
                if not failed and self.query(self.centre(self.omega[one])[0], self.centre(self.omega[other])[0]):
                    self.omega[following] = sorted(self.omega.pop(one) + self.omega.pop(other))
                    became[one] = became[other] = following
                    self.merged += 1
                    following += 1

    def labels(self) -> list[int]:
        found = np.empty(len(self.p), np.int64)
        for c, w in self.omega.items():
            found[w] = c
        return [int(label) for label in numbered(found)]


def case(name: str) -> tuple[NDArray[np.float32], NDArray[np.int64], int]:
    if name == "ties":
        vectors, truth = blobs((6, 5, 4), noise=0.8, seed=1)
        return np.concatenate([vectors, vectors[[0, 0, 7, 12]]]), np.concatenate([truth, truth[[0, 0, 7, 12]]]), 5
    sizes, noise, classes = {"plain": ((12, 10, 8, 7), 0.6, 12), "mixed": ((9, 8, 6), 1.3, 3)}[name]
    return *blobs(sizes, noise=noise, seed=5), classes


@pytest.mark.parametrize("name", ["plain", "mixed", "ties"])
@pytest.mark.parametrize(("level", "tau"), SETTINGS)
def test_the_preset_asks_what_algorithm_1_asks_and_groups_as_it_does(name: str, level: float, tau: float) -> None:
    vectors, truth, classes = case(name)
    paper = Transcription(vectors, truth, classes, level, tau)
    check(paper, vectors, {"pseudo_classes": classes, "threshold": level, "compactness": tau})


@pytest.mark.parametrize("name", ["plain", "mixed", "ties"])
def test_the_preset_alone_asks_so_too_with_the_level_of_appendix_c1_and_k_at_the_elbow(name: str) -> None:
    vectors, truth, _ = case(name)
    paper = Transcription(vectors, truth, kmeans_elbow(vectors, seed=SEED).clusters, None, tau=0.7)
    check(paper, vectors, {})


def check(paper: Transcription, vectors: NDArray[np.float32], told: dict[str, Scalar]) -> None:
    """The questions in their order, and the groups at the end, with the preset and what is told beside it."""
    paper.algorithm_1()
    truth = paper.truth
    found = neighbors_in_memory(vectors, min(8, len(vectors) - 1))
    parameters = grouping_method("apc").preset(PAPER, told) | told
    sampler = make_grouper("apc", GroupingInputs(vectors, found.index, found.similarity, SEED, None, parameters))
    asked: Pairs = []
    while questions := sampler.ask(9):
        (question,) = questions
        asked.append((question.u, question.v))
        sampler.tell([Answer(question.id, question.u, question.v, float(truth[question.u] == truth[question.v]))])
    assert asked == paper.asked
    assert sampler.result().labels.tolist() == paper.labels()
    assert sampler.done


def test_the_cases_reach_every_step_of_the_algorithm() -> None:
    merged = split = asked = 0
    for name in ("plain", "mixed", "ties"):
        for level, tau in SETTINGS:
            paper = Transcription(*case(name), level, tau)
            paper.algorithm_1()
            merged, split, asked = merged + paper.merged, split + paper.split, asked + len(paper.asked)
    assert min(merged, split) >= 3
    assert asked > 60


def test_p_plus_of_four_pairs_at_5_percent_is_5_percent_as_printed_and_20_with_ours() -> None:
    from cccount_dist.clustering.apc.parameters import ApcParameters
    from cccount_dist.clustering.apc.printed import RunningApc

    p = np.full((4, 4), 0.05)
    away = np.ones((4, 4))
    for added, expected in ((0.0, 0.05), (1.0, 0.2)):
        parameters = ApcParameters(form="printed", added=added, threshold=0.5)
        running = RunningApc(away, p.copy(), np.array([0, 0, 1, 1]), parameters, 0)
        assert running.merge_probability(np.array([0, 1]), np.array([2, 3])) == pytest.approx(expected)


def test_more_items_than_a_square_matrix_is_meant_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cccount_dist.clustering.apc.printed.MOST_ITEMS", 10)
    vectors, _, _ = case("plain")
    found = neighbors_in_memory(vectors, 8)
    parameters = grouping_method("apc").preset(PAPER)
    sampler = make_grouper("apc", GroupingInputs(vectors, found.index, found.similarity, SEED, None, parameters))
    with pytest.raises(InputError, match=r"works up to 10 items, and there are 37: leave --preset paper out"):
        sampler.ask(1)
