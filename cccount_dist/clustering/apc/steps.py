"""The human test and what follows from it, as small programs that stop at each question: purity, join, split, outliers.

A program yields (u, v, purpose) and is sent the answer: 1 same, 0 different, None unsure. It changes the clusters only after the
answers that it needs, so one that nobody has answered yet can be dropped without a trace. Unsure never joins and never splits.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.apc.clusters import SMALL, Clusters, Looks
from cccount_dist.clustering.apc.parameters import ApcParameters
from cccount_dist.clustering.apc.probability import FitPairs, Ints, PairMap, between
from cccount_dist.clustering.present import PresentRows
from cccount_dist.sampling.types import DIFFERENT, SAME

Asking = tuple[int, int, str]
Program = Generator[Asking, float | None, None]


@dataclass(slots=True)
class Ground:
    """What the programs stand on. The map is replaced when it is refitted."""

    rows: PresentRows
    pairs: PairMap
    parameters: ApcParameters
    seed: int
    sample: FitPairs  # what the map was fitted on
    pseudo: Ints  # (n,) classes that it was fitted with

    @property
    def vectors(self) -> NDArray[np.float32]:
        return self.rows.vectors

    @property
    def neighbors(self) -> NDArray[np.int32]:
        return self.rows.neighbors


def join_test(ground: Ground, clusters: Clusters, first: int, second: int) -> Program:
    """Test the purity of both clusters, then ask whether their central items are the same, and join them if so."""
    for number in (first, second):
        if not (yield from _pure(ground, clusters, number)):
            return
    answer = yield clusters.leader[first], clusters.leader[second], "join"
    if answer == SAME:
        clusters.join(first, second)


def outlier_test(ground: Ground, clusters: Clusters, outlier: int, target: int) -> Program:
    """Ask whether a very small cluster belongs to another one."""
    if not (yield from _pure(ground, clusters, target)):
        return
    item = int(clusters.members[outlier][0])
    answer = yield item, clusters.leader[target], "outlier"
    if answer == SAME:
        clusters.join(outlier, target)


def first_questions(ground: Ground, clusters: Clusters, first: int, second: int, *, outlier: bool) -> Iterator[Asking]:
    """Yield what a test would ask first, as long as both clusters are pure; changes nothing."""
    leaders = []
    for number in (first, second):
        leader = clusters.leader.get(number)
        if leader is None and (len(members := clusters.members[number]) == 1 or (outlier and number == first)):
            leader = int(members[0])
        if leader is None:
            looks = Looks(ground.vectors, ground.pairs, clusters.members[number])
            leader = looks.leader
            if looks.compactness() <= ground.parameters.compactness:
                yield leader, looks.other(ground.seed), "purity"
        leaders.append(leader)
    yield leaders[0], leaders[1], "outlier" if outlier else "join"


def _pure(ground: Ground, clusters: Clusters, number: int) -> Generator[Asking, float | None, bool]:
    """Return whether a cluster passes the purity test; one that fails is split. Passed once, it is not tested again."""
    if number in clusters.leader:
        return True
    members = clusters.members[number]
    if len(members) == 1:
        clusters.leader[number] = int(members[0])
        return True
    looks = Looks(ground.vectors, ground.pairs, members)
    if looks.compactness() > ground.parameters.compactness:
        clusters.leader[number] = looks.leader
        return True
    other = looks.other(ground.seed)
    answer = yield looks.leader, other, "purity"
    if answer != DIFFERENT:
        clusters.leader[number] = looks.leader
        return True
    if len(members) <= SMALL:
        rest, alone = clusters.split(number, [members[members != other], np.array([other])])
        clusters.leader[rest], clusters.leader[alone] = looks.leader, other
    else:
        yield from _partition(ground, clusters, number, looks, other)
    return False


def _partition(ground: Ground, clusters: Clusters, number: int, looks: Looks, other: int) -> Program:
    """Algorithm 2 with a cap: compare central items with the groups so far; the rest goes where its log-odds are best."""
    parameters = ground.parameters
    # The two items that were found different come first: they are what is known.
    order = [looks.leader, other, *(int(i) for i in looks.central if i not in (looks.leader, other))]
    groups: list[list[int]] = [[order[0]], [order[1]]]
    asked = 0
    for item in order[2:]:
        if asked >= parameters.partition_questions:
            break
        closest = [_closest(ground, item, group) for group in groups]
        found, sure = None, True
        for place in sorted(range(len(groups)), key=lambda g: (closest[g][1], g)):
            asked += 1
            answer = yield item, closest[place][0], "split"
            sure = sure and answer is not None
            if answer == SAME:
                found = place
                break
        if found is not None:
            groups[found].append(item)
        elif sure and len(groups) < parameters.partition_groups:
            groups.append([item])
        elif sure:
            break
    members = clusters.members[number]
    parts = _with_rest(ground, members, groups)
    for group, new in zip(groups, clusters.split(number, parts), strict=True):
        clusters.leader[new] = group[0]


def _closest(ground: Ground, item: int, group: list[int]) -> tuple[int, float]:
    away = between(ground.vectors, np.array([item]), np.array(group))[0]
    at = int(away.argmin())
    return group[at], float(away[at])


def _with_rest(ground: Ground, members: Ints, groups: list[list[int]]) -> list[Ints]:
    """Put the members that nobody was asked about into the group with the best mean log-odds."""
    rest = np.setdiff1d(members, np.concatenate([np.array(group) for group in groups]))
    score = np.stack([
        ground.pairs.odds[ground.pairs.bins(between(ground.vectors, rest, np.array(group)))].mean(axis=1) for group in groups
    ])  # fmt: skip
    best = score.argmax(axis=0)
    return [np.concatenate([np.array(group), rest[best == place]]) for place, group in enumerate(groups)]
