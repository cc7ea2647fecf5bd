"""Blocks: their statistics add up, and the greedy merging does what a slow loop over all pairs does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cccount_dist.clustering.distance import dot, dot_of_bytes
from cccount_dist.clustering.evidence import partition as partitions
from cccount_dist.clustering.evidence.agglomerate import LARGE, LEAST_SAID, MARGIN
from cccount_dist.clustering.evidence.bounds import most_product, roughly
from cccount_dist.clustering.evidence.bridges import NEAREST
from cccount_dist.clustering.evidence.logistic import Model, prior, probability
from cccount_dist.clustering.evidence.micro import Micro, make_micro
from cccount_dist.clustering.evidence.partition import Builder, Evidence, Partition
from cccount_dist.clustering.evidence.questions import worth
from cccount_dist.clustering.evidence.space import sharpened
from cccount_dist.similarity.inmemory import neighbors_in_memory
from tests.cccount_dist.samplers import blobs

VECTORS, _ = blobs((24, 16, 12, 8), noise=0.7)
NEIGHBORS = neighbors_in_memory(VECTORS, 50).index
SPACE = sharpened(VECTORS, NEIGHBORS)[0]
MICRO = make_micro(VECTORS, NEIGHBORS)[1]

LOOSE = replace(MICRO, glued=MICRO.glued[:0])
FEW, WIDE = 24, 192  # dimensions


def evidence(random: np.random.Generator, count: int) -> Evidence:
    pairs = {(min(a, b), max(a, b)) for a, b in random.integers(MICRO.count, size=(count, 2)).tolist() if a != b}
    keys = sorted(pairs)
    values = random.choice([-2.94, 2.94, 0.0, 5.88], len(keys))
    return Evidence(np.array([a for a, _ in keys], np.int64), np.array([b for _, b in keys], np.int64), values)


def table(micro: Micro, held: Evidence) -> tuple[np.ndarray, np.ndarray]:
    link, asked = np.zeros((micro.count, micro.count)), np.zeros((micro.count, micro.count))
    link[micro.first, micro.second] = micro.link
    asked[held.first, held.second] = held.value
    return link + link.T, asked + asked.T


def features(micro: Micro, link: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The features of two sets of micro-clusters, item by item."""
    x, y = (SPACE[np.isin(micro.label, side)].astype(np.float64) for side in (a, b))
    distance = np.square(x[:, None] - y[None]).sum(axis=2).mean()
    average = link[np.ix_(a, b)].sum() / (len(x) * len(y))
    return np.array([1.0, np.log(average + 1e-3), (micro.far - distance) / micro.unit, min(3.0, np.log2(min(len(x), len(y))))])


def within(said: float, asked: np.ndarray) -> bool:
    """Whether evidence is what was answered, with less of every "same" where it speaks for a smaller part only."""
    return bool(np.minimum(asked, LEAST_SAID).sum() - 1e-9 <= said <= asked.sum() + 1e-9)


def check(partition: Partition, held: Evidence) -> None:
    link, asked = table(MICRO, held)
    blocks = [partition.micros_of(number) for number in range(partition.blocks)]
    assert sorted(np.concatenate(blocks).tolist()) == list(range(MICRO.count))
    for number, micros in enumerate(blocks):
        assert (partition.block[micros] == number).all()
        assert partition.size[number] == MICRO.size[micros].sum()
    pairs, merges = partition.pairs, partition.merges
    assert len(pairs.first) == partition.blocks * (partition.blocks - 1) / 2
    assert (pairs.first < pairs.second).all()
    for p, (i, j) in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        assert np.allclose(pairs.features[p], features(MICRO, link, blocks[i], blocks[j]))
        assert within(pairs.evidence[p], asked[np.ix_(blocks[i], blocks[j])])
    assert len(merges.left) == MICRO.count - partition.blocks
    for t in range(len(merges.left)):
        a = partition.micros(int(merges.left[t]), int(merges.left_count[t]))
        b = partition.micros(int(merges.right[t]), int(merges.right_count[t]))
        assert len(set(partition.block[a]) | set(partition.block[b])) == 1
        assert np.allclose(merges.features[t], features(MICRO, link, a, b))
        assert within(merges.evidence[t], asked[np.ix_(a, b)])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 30), st.floats(-3, 3))
def test_statistics_of_blocks_and_merges_equal_a_computation_from_scratch(seed: int, count: int, theta: float) -> None:
    random = np.random.default_rng(seed)
    builder = Builder(MICRO)
    held = evidence(random, count)
    partition = builder.whole(prior(), theta, held)
    check(partition, held)
    for _ in range(3):
        more = evidence(random, 6)
        touched = np.unique(np.concatenate([held.first, held.second, more.first, more.second]))
        held = more  # the old evidence is taken back, so its blocks are touched as well
        partition = builder.after(partition, touched, prior(), theta + random.normal(), held)
        check(partition, held)


def slow(micro: Micro, held: Evidence, theta: float) -> list[set[int]]:
    """Greedy merging over all pairs, every number computed anew after every merge."""
    link, asked = table(micro, held)
    blocks = {x: np.array([x]) for x in range(micro.count)}
    for phase in range(2):
        while True:
            best, pair = (MARGIN if phase == 0 else 0.0), None
            for i, a in blocks.items():
                for j in (j for j in blocks if j > i):
                    said = min(asked[i, j], 0.0) if phase == 0 else asked[i, j]
                    z = features(micro, link, a, blocks[j]) @ prior().weight - theta + said
                    if z > best:
                        best, pair = z, (i, j)
            if pair is None:
                break
            i, j = pair
            smaller = i if micro.size[blocks[i]].sum() < micro.size[blocks[j]].sum() else j
            asked[smaller] = np.minimum(asked[smaller], max(best, LEAST_SAID))
            asked[i] = asked[:, i] = asked[i] + asked[j]
            blocks[i] = np.concatenate([blocks[i], blocks.pop(j)])
    return sorted((set(b.tolist()) for b in blocks.values()), key=min)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_merging_agrees_with_a_slow_loop_over_all_pairs(seed: int) -> None:
    held = evidence(np.random.default_rng(seed), 12)
    theta = -2.0 + seed
    partition = Builder(LOOSE, caution=0.0).whole(prior(), theta, held)
    fast = sorted((set(partition.micros_of(b).tolist()) for b in range(partition.blocks)), key=min)
    assert fast == slow(LOOSE, held, theta)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([16, WIDE]), st.sampled_from([0.0, 1e-9, 1.0]), st.sampled_from([1e-160, 1.0]))
def test_no_product_of_two_sums_is_above_its_bound(seed: int, width: int, noise: float, scale: float) -> None:
    """Also where whole numbers leave nothing, or next to all, and rounding is all there is."""
    random = np.random.default_rng(seed)
    plain = random.normal(size=(40, FEW)) @ random.normal(size=(FEW, width))
    total = (plain + noise * random.normal(size=plain.shape)) * np.exp(random.normal(size=(40, 1)) * 3) * scale
    total[10:20] = np.rint(total[10:20] / np.abs(total[10:20]).max(axis=1, keepdims=True) * 127)
    total[5, 1:] *= 1e-3  # one number that is far larger than all others
    total[6] = 0.0
    total[20:] = total[:20] * random.choice([1.0, -1.0, 1e-3], (20, 1))  # the bound is reached where two point the same way
    rough, reach = roughly(total)
    for x in range(40):
        for y in range(40):
            assert dot(total[x], total[y]) <= most_product(rough[x], reach[x], rough[y], reach[y])


def test_a_bound_is_near_where_vectors_reach_in_all_directions() -> None:
    total = np.random.default_rng(1).normal(size=(40, WIDE))
    rough, reach = roughly(total)
    for x in range(39):
        slack = most_product(rough[x], reach[x], rough[x + 1], reach[x + 1]) - total[x] @ total[x + 1]
        assert slack < 0.03 * np.linalg.norm(total[x]) * np.linalg.norm(total[x + 1])


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([16, 48, 1280]))
def test_products_of_bytes_are_exact(seed: int, width: int) -> None:
    x, y = np.random.default_rng(seed).integers(-128, 128, (2, width)).astype(np.int8)
    assert dot_of_bytes(x, y) == int(x.astype(np.int64) @ y.astype(np.int64))
    low = np.full(width, -128, np.int8)
    assert dot_of_bytes(low, low) == width * 128**2


def test_bounds_change_nothing_of_what_is_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit, whole and after answers, with and without them, where vectors are wide."""
    random = np.random.default_rng(4)
    centres = random.normal(size=(30, 20)) @ random.normal(size=(20, WIDE + 16))
    vectors = (centres[random.integers(0, 30, 600)] + 2.0 * random.normal(size=(600, WIDE + 16))).astype(np.float32)
    micro = make_micro(vectors, neighbors_in_memory(vectors, 12).index)[1]
    first, more = ([random.integers(0, micro.count, 40) for _ in range(2)] for _ in range(2))
    said = [
        Evidence(np.minimum(a, b)[a != b], np.maximum(a, b)[a != b], random.choice([-2.94, 2.94], int((a != b).sum())))
        for a, b in (first, more)
    ]

    def boundless(total: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(total.shape, np.int8), np.full((len(total), 3), np.inf)

    def merged() -> list[Partition]:
        builder = Builder(micro)
        whole = builder.whole(prior(), -1.0, said[0])
        return [whole, builder.after(whole, np.unique(np.concatenate([*first, *more])), prior(), -0.5, said[1])]

    with_bounds = merged()
    monkeypatch.setattr(partitions, "roughly", boundless)
    for found, plain in zip(with_bounds, merged(), strict=True):
        assert 5 < found.blocks < micro.count
        for part in ("pairs", "merges", "units"):
            mine, other = getattr(found, part), getattr(plain, part)
            assert all(np.array_equal(getattr(mine, name), getattr(other, name)) for name in type(mine).__slots__)
        assert np.array_equal(found.standing, plain.standing)


def test_two_large_units_are_not_joined_on_the_models_word_alone() -> None:
    none = Evidence(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    bold, careful = (Builder(LOOSE, caution=caution).whole(prior(), -2.0, none) for caution in (0.0, 100.0))
    assert careful.blocks > bold.blocks
    large = careful.size[careful.pairs.first] * careful.size[careful.pairs.second] > LARGE * careful.within
    assert (careful.pairs.features[~large] @ prior().weight <= -2.0).all()


def test_blocks_with_near_centroids_are_compared_although_no_micro_clusters_of_theirs_are() -> None:
    inside = MICRO.group[MICRO.first] == MICRO.group[MICRO.second]  # candidates only inside of groups
    sparse = replace(LOOSE, first=MICRO.first[inside], second=MICRO.second[inside], link=MICRO.link[inside])
    none = Evidence(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    partition = Builder(sparse).whole(prior(), 30.0, none)  # nothing is merged
    assert partition.blocks == MICRO.count
    between = {(min(a, b), max(a, b)) for a, b in zip(*(side.tolist() for side in partition.bridges), strict=True)}
    centres = MICRO.total / MICRO.size[:, None]
    apart = np.square(centres[:, None] - centres[None]).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    nearest = np.argsort(apart, axis=1)[:, :NEAREST]
    assert between == {(min(a, b), max(a, b)) for a in range(MICRO.count) for b in nearest[a].tolist()}
    pairs = set(zip(partition.pairs.first.tolist(), partition.pairs.second.tolist(), strict=True))
    assert between <= pairs
    a, b = sorted(between)[0]
    held = Evidence(np.array([a]), np.array([b]), np.array([-2.94]))
    after = Builder(sparse).after(partition, np.array([a, b]), prior(), 30.0, held)  # bridges last when blocks are dissolved
    assert pairs == set(zip(*((np.sort(micro_pairs(after), axis=1)).T.tolist()), strict=True))


def micro_pairs(partition: Partition) -> np.ndarray:
    """Pairs of blocks of one micro-cluster each, as micro-clusters."""
    heads = partition.units.order[partition.units.start[:-1]]
    return np.stack([heads[partition.pairs.first], heads[partition.pairs.second]], axis=1)


def test_a_pair_that_is_no_candidate_becomes_one_when_it_is_asked_about() -> None:
    sparse = replace(LOOSE, first=MICRO.first[:0], second=MICRO.second[:0], link=MICRO.link[:0])
    held = Evidence(np.array([0]), np.array([5]), np.array([60.0]))
    partition = Builder(sparse).whole(prior(), 30.0, held)
    assert partition.blocks == MICRO.count - 1
    assert partition.block[0] == partition.block[5]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 20))
def test_the_worth_of_questions_is_what_the_probabilities_and_sizes_say(seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    root = random.normal(size=(4, 4))
    model = Model(prior().weight + random.normal(size=4) * [1.0, 0.2, 2.0, 0.2], root @ root.T)
    partition = Builder(MICRO).whole(model, 0.0, evidence(random, count))
    found, level = worth(MICRO, partition, model, 0.0), 0.5
    pairs, merges, size, items = partition.pairs, partition.merges, partition.size, MICRO.size.sum()

    def drop(a: float, b: float) -> float:
        return float((a + b) * np.log(a + b) - a * np.log(a) - b * np.log(b)) / float(items)

    assert found.same == pytest.approx(probability(model, pairs.features, pairs.evidence))
    assert found.held == pytest.approx(probability(model, merges.features, merges.evidence))
    least = [drop(size[a], size[b]) * p * level * 2 for a, b, p in zip(pairs.first, pairs.second, found.same, strict=True)]
    assert (found.pair >= np.array(least) - 1e-12).all()  # more where a block has strayed
    for t, p in enumerate(found.held):
        left, right = (
            MICRO.size[partition.micros(int(head), int(number))].sum()
            for head, number in ((merges.left[t], merges.left_count[t]), (merges.right[t], merges.right_count[t]))
        )
        assert found.merge[t] == pytest.approx(drop(left, right) * (1 - p) * level * 2)
