"""`hacc --preset paper` against algorithm 1 of the Active-HACC paper: every pair tried by clustering anew, no shortcut."""

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.clustering.hacc.beliefs import many_runs
from cccount_dist.clustering.hacc.build import units_of
from cccount_dist.clustering.hacc.forest import order_of, squared_distances
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, make_grouper
from cccount_dist.clustering.result import numbered
from cccount_dist.sampling.methods import PAPER
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.settings import Scalar
from tests.cccount_dist.samplers import blobs

Pairs = list[tuple[int, int]]
SEED = 3
PRESET = grouping_method("hacc").preset(PAPER)


def hacc(edges: Pairs, items: int, must: Pairs, cannot: Pairs, clusters: int) -> NDArray[np.int64]:
    """Section 3.2.2: must-links, then edges from the shortest on, until K trees are left."""
    label = np.arange(items)
    for u, v in must:
        label[label == label[v]] = label[u]
    for u, v in edges:
        if len(np.unique(label)) <= clusters:
            break
        apart = any({label[a], label[b]} == {label[u], label[v]} for a, b in cannot)
        if label[u] != label[v] and not apart:
            label[label == label[v]] = label[u]
    return label


def relative_jaccard(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Equation 3."""
    upper = np.triu_indices(len(one), 1)
    a, b = (one[:, None] == one)[upper], (other[:, None] == other)[upper]
    return float((a & b).sum() / (a | b).sum())


def after_locally(now: NDArray[np.int64], edges: Pairs, must: Pairs, i: int, j: int) -> NDArray[np.int64]:
    """H2 (section 1.1): an answer changes only the clusters of the two items, all others stay as they are.

    "Same" unites the two clusters; "different" makes two of the one, by clustering its items anew with the link.
    """
    if now[i] != now[j]:
        return np.where(now == now[j], now[i], now)
    inside = {int(item) for item in np.flatnonzero(now == now[i])}
    near = [edge for edge in edges if {*edge} <= inside]
    links = [link for link in must if {*link} <= inside]
    found = hacc(near, len(now), links, [(i, j)], len(now) - len(inside) + 2)
    return np.where(now == now[i], len(now) + found, now)


def algorithm_1(
    vectors: NDArray[np.float32], truth: NDArray[np.int64], clusters: int, most: int, *, local: bool = False
) -> tuple[Pairs, Pairs, Pairs]:
    """Return the questions in their order, and the links; it stops when no answer would change anything (section 4.1)."""
    items = len(vectors)
    runs = many_runs(vectors, clusters, SEED, 100, finer=False)
    p = (runs[:, :, None] == runs[:, None, :]).mean(axis=0)  # equation 2
    order = order_of(squared_distances(vectors))
    edges = list(zip(order.first.tolist(), order.second.tolist(), strict=True))
    must: Pairs = []
    cannot: Pairs = []
    asked: Pairs = []
    while len(asked) < most:
        now = hacc(edges, items, must, cannot, clusters)
        best, chosen = 1e-9, None
        for i in range(items):
            for j in range(i + 1, items):
                if (i, j) in asked:
                    continue
                one = bool(now[i] == now[j])
                if _linked(i, j, must) if one else _apart(i, j, must, cannot):
                    continue  # follows from earlier answers: changes nothing
                if local:
                    then = after_locally(now, edges, must, i, j)
                elif one:
                    then = hacc(edges, items, must, [*cannot, (i, j)], clusters)
                else:
                    then = hacc(edges, items, [*must, (i, j)], cannot, clusters)
                chance = 1 - p[i, j] if one else p[i, j]  # equations 6 and 7
                value = chance * (1 - relative_jaccard(now, then))
                if value > best + 1e-12:
                    best, chosen = value, (i, j)
        if chosen is None:
            break
        asked.append(chosen)
        (must if truth[chosen[0]] == truth[chosen[1]] else cannot).append(chosen)
    return asked, must, cannot


def _linked(i: int, j: int, must: Pairs) -> bool:
    label = hacc([], max(max((i, j, *map(max, must))), 0) + 1, must, [], 1)
    return bool(label[i] == label[j])


def _apart(i: int, j: int, must: Pairs, cannot: Pairs) -> bool:
    label = hacc([], max((i, j, *map(max, must), *map(max, cannot))) + 1, must, [], 1)
    return any({label[a], label[b]} == {label[i], label[j]} for a, b in cannot)


def inputs(vectors: NDArray[np.float32], clusters: int, parameters: dict[str, Scalar] | None = None) -> GroupingInputs:
    found = neighbors_in_memory(vectors, min(6, len(vectors) - 1))
    return GroupingInputs(vectors, found.index, found.similarity, SEED, clusters, {**PRESET, **(parameters or {})})


@pytest.mark.parametrize("preset", [PAPER, "paper-h2"])
@pytest.mark.parametrize(
    ("sizes", "noise", "twins"), [((4, 3, 3), 0.9, ()), ((3, 3, 2), 1.2, (0, 3)), ((5, 2, 1), 0.7, (1, 5, 7))]
)
def test_the_preset_asks_what_algorithm_1_asks_and_groups_as_it_does(
    sizes: tuple[int, ...], noise: float, twins: tuple[int, ...], preset: str
) -> None:
    vectors, truth = blobs(sizes, noise=noise, seed=2)
    vectors, truth = np.concatenate([vectors, vectors[list(twins)]]), np.concatenate([truth, truth[list(twins)]])
    clusters = len(sizes)
    expected, must, cannot = algorithm_1(vectors, truth, clusters, most=40, local=preset == "paper-h2")
    sampler = make_grouper("hacc", inputs(vectors, clusters, grouping_method("hacc").preset(preset)))
    asked: Pairs = []
    while questions := sampler.ask(5):
        assert len(questions) == 1  # one at a time, as printed
        (question,) = questions
        asked.append((question.u, question.v))
        sampler.tell([Answer(question.id, question.u, question.v, float(truth[question.u] == truth[question.v]))])
    assert asked == expected
    assert sampler.done
    order = order_of(squared_distances(vectors))
    edges = list(zip(order.first.tolist(), order.second.tolist(), strict=True))
    assert sampler.result().labels.tolist() == numbered(hacc(edges, len(truth), must, cannot, clusters)).tolist()


def test_a_stop_ends_what_would_go_on() -> None:
    vectors, truth = blobs((5, 4, 3), noise=0.3)

    def questions(stop: float) -> int:
        sampler = make_grouper("hacc", inputs(vectors, 3, {"stop": stop}))
        count = 0
        while found := sampler.ask(1):
            count += 1
            sampler.tell([Answer(q.id, q.u, q.v, float(truth[q.u] == truth[q.v])) for q in found])
        return count

    assert questions(0.3) < questions(0.05) <= questions(1e-9) <= questions(0.0)


def test_h1_groups_near_items_by_k_means() -> None:
    vectors, truth = blobs((9, 8, 7), noise=0.3)
    given = inputs(vectors, 3, {"units": 8})
    units = units_of(given)
    assert units.groups is not None
    assert len(units.rows) <= 8
    sampler = make_grouper("hacc", given)
    while found := sampler.ask(1):
        assert units.groups[found[0].u] != units.groups[found[0].v]
        sampler.tell([Answer(q.id, q.u, q.v, float(truth[q.u] == truth[q.v])) for q in found])
    labels = sampler.result().labels
    for group in np.unique(units.groups):
        assert len(np.unique(labels[units.groups == group])) == 1


def test_pairs_that_are_unlikely_are_not_asked() -> None:
    vectors, truth = blobs((4, 4, 4), noise=1.5, seed=4)
    runs = many_runs(vectors, 3, SEED, 100, finer=False)
    p = (runs[:, :, None] == runs[:, None, :]).mean(axis=0)
    sampler = make_grouper("hacc", inputs(vectors, 3, {"unlikely": 0.4}))
    joins = 0
    while found := sampler.ask(1):
        (question,) = found
        if question.purpose == "join":
            joins += 1
            assert p[question.u, question.v] >= 0.4
        sampler.tell([Answer(question.id, question.u, question.v, float(truth[question.u] == truth[question.v]))])
    assert joins
