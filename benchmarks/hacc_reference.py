"""Active-HACC as the paper writes it, every pair tried by running the whole clustering anew: O(n⁴). For tests and benchmarks."""

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def _root(up: Ints, x: int) -> int:
    while up[x] != x:
        x = up[x]
    return x


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def cluster(n: int, first: NDArray[np.int32], second: NDArray[np.int32], must: Ints, cannot: Ints, clusters: int) -> Ints:
    """Label of each unit: must-links, then pairs in order, until `clusters` trees are left or no pair is allowed."""
    label = np.arange(n)
    trees = n
    for link in range(len(must)):
        old, new = label[must[link, 1]], label[must[link, 0]]
        if old != new:
            label[label == old] = new
            trees -= 1
    apart = np.zeros((n, n), np.uint8)
    for link in range(len(cannot)):
        a, b = label[cannot[link, 0]], label[cannot[link, 1]]
        apart[a, b] = apart[b, a] = 1
    for rank in range(len(first)):
        if trees <= clusters:
            break
        a, b = label[first[rank]], label[second[rank]]
        if a == b or apart[a, b]:
            continue
        for x in range(n):
            if label[x] == b:
                label[x] = a
            if apart[b, x]:
                apart[a, x] = apart[x, a] = 1
        trees -= 1
    return label


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def jaccard(one: Ints, other: Ints, weight: Ints) -> float:
    both = either = 0
    for i in range(len(one)):
        both += weight[i] * (weight[i] - 1) // 2
        either += weight[i] * (weight[i] - 1) // 2
        for j in range(i + 1, len(one)):
            first, second = one[i] == one[j], other[i] == other[j]
            both += weight[i] * weight[j] * (first and second)
            either += weight[i] * weight[j] * (first or second)
    return 1.0 if either == 0 else both / either


@numba.njit(cache=True)  # type: ignore[untyped-decorator, unused-ignore]
def expected_changes(first: NDArray[np.int32], second: NDArray[np.int32], weight: Ints, must: Ints, cannot: Ints, clusters: int,
                     probability: NDArray[np.float64]) -> NDArray[np.float64]:  # fmt: skip
    """The expected change for every pair (upper triangle), -1 where the answer is implied or the probability is NaN."""
    n = len(weight)
    now = cluster(n, first, second, must, cannot, clusters)
    closure = cluster(n, first, second, must, cannot, n)
    apart = np.zeros((n, n), np.uint8)
    for link in range(len(cannot)):
        a, b = closure[cannot[link, 0]], closure[cannot[link, 1]]
        apart[a, b] = apart[b, a] = 1
    value = np.full((n, n), -1.0)
    longer_must = np.vstack((must, np.zeros((1, 2), np.int64)))
    longer_cannot = np.vstack((cannot, np.zeros((1, 2), np.int64)))
    for i in range(n):
        for j in range(i + 1, n):
            p = probability[i, j]
            if closure[i] == closure[j] or apart[closure[i], closure[j]] or np.isnan(p):
                continue
            if now[i] == now[j]:
                longer_cannot[-1, 0], longer_cannot[-1, 1] = i, j
                then = cluster(n, first, second, must, longer_cannot, clusters)
                value[i, j] = (1.0 - p) * (1.0 - jaccard(now, then, weight))
            else:
                longer_must[-1, 0], longer_must[-1, 1] = i, j
                then = cluster(n, first, second, longer_must, cannot, clusters)
                value[i, j] = p * (1.0 - jaccard(now, then, weight))
    return value


def best_of(value: NDArray[np.float64]) -> tuple[int, int, float] | None:
    """The pair with the largest value, the smallest pair of equal ones; None if no pair can be asked."""
    if value.max(initial=-1.0) < 0.0:
        return None
    i, j = divmod(int(value.argmax()), len(value))
    return i, j, float(value[i, j])
