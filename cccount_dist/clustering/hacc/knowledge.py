"""What people said so far, and the clustering that follows from it. Shared by the active sampler and by random questions.

Unsure adds no link. An answer that contradicts the earlier ones is kept among the conflicts and not applied. Micro-clusters
that the answers contradict are opened. All of it is a function of the sequence of answers: nothing else is remembered.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cccount_dist.clustering.hacc.beliefs import EXCLUDED
from cccount_dist.clustering.hacc.forest import Bytes, Forest, compiled, grow
from cccount_dist.clustering.hacc.units import MicroClusters, Problem, contradicted
from cccount_dist.clustering.result import Grouping, numbered
from cccount_dist.sampling.constraints import Conflict, Constraints, Link
from cccount_dist.sampling.types import SAME, Answer
from storage.errors import InputError

Rebuild = Callable[[Collection[int]], Problem]  # the problem in which these micro-clusters are opened


@dataclass(frozen=True, slots=True)
class HaccGrouping(Grouping):
    """The grouping, and what stood in its way."""

    wanted: int  # clusters that were asked for
    proven: int  # items that the answers show to be all different: a lower bound of the number of clusters
    dead_end: bool  # cannot-links kept more clusters apart than wanted
    opened: int  # micro-clusters that answers contradicted


class Knowledge:
    """Takes answers in, and gives the forest that respects them.

    Parameters
    ----------
    problem : the units
    clusters : K; more are made when the answers prove that there are more
    micro : the micro-clusters that the units are; None if units are items
    rebuild : makes the problem in which some of them are opened
    """

    def __init__(
        self, problem: Problem, clusters: int, micro: MicroClusters | None = None, rebuild: Rebuild | None = None
    ) -> None:
        if clusters < 1:
            raise InputError(f"clusters is {clusters}: Active-HACC needs the number of clusters, 1 or more")
        self.problem = problem
        self.wanted = clusters
        self.asked: dict[int, tuple[int, int]] = {}
        self.answers: dict[int, float | None] = {}
        self._constraints = Constraints()
        self.micro = micro
        self._rebuild = rebuild
        self._opened: frozenset[int] = frozenset()
        self._forest: Forest | None = None
        self._proven = 1

    @property
    def conflicts(self) -> list[Conflict]:
        """Answers that contradict earlier ones."""
        return self._constraints.conflicts

    def known(self, u: int, v: int) -> float | None:
        """Return what follows from the answers about two items."""
        return self._constraints.known(u, v)

    def ask(self, u: int, v: int) -> int:
        """Write down that a pair of items is asked, and return the number of the question. It is never asked again."""
        number = len(self.asked)
        self.asked[number] = (u, v)
        self._exclude(u, v)
        return number

    def tell(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            if answer.question_id not in self.asked:
                raise InputError(f"question {answer.question_id} was answered, but only {len(self.asked)} were asked")
            if (answer.question_id, answer.value) in self.answers.items():
                continue  # heard before: to take it in again would put it behind the answers that contradict it
            name = str(answer.question_id)
            if self.answers.get(answer.question_id) is not None:
                self._constraints.remove(name)
            if answer.value is not None:
                self._constraints.add(*self.asked[answer.question_id], answer.value, name)
            self.answers[answer.question_id] = answer.value
            self._forest = None

    def pending(self) -> list[tuple[int, int]]:
        """Return the pairs that were asked and are not answered."""
        return [pair for number, pair in self.asked.items() if number not in self.answers]

    def forest(self) -> Forest:
        """Return the clustering that respects all answers that can be respected."""
        if self._forest is None:
            links = self._links()
            self._open(links)
            unit = self.problem.of_item
            pairs = np.array([(unit[u], unit[v]) for u, v, _, _ in links], np.int64).reshape(-1, 2)
            same = np.array([value == SAME for _, _, value, _ in links], bool)
            must, cannot = pairs[same], pairs[~same]
            forest = grow(self.problem.order, self.problem.weight, must, cannot, self.wanted)
            self._proven = all_different(forest.cannot)
            if self._proven > self.wanted:
                forest = grow(self.problem.order, self.problem.weight, must, cannot, self._proven)
            self._forest = forest
        return self._forest

    def grouping(self) -> HaccGrouping:
        forest = self.forest()
        labels = numbered(forest.labels()[self.problem.of_item])
        warning = "; ".join(self._cautions(forest)) or None
        return HaccGrouping(labels, self.wanted, self._proven, forest.dead_end, len(self._opened), warning=warning)

    def _cautions(self, forest: Forest) -> Iterator[str]:
        """Say what stood in the way of the grouping that was wanted, and what condensing may have cost."""
        if self._proven > self.wanted:
            yield f"the answers prove {self._proven:,} different items, and {self.wanted:,} clusters were asked for"
        elif forest.dead_end:
            yield f"the answers keep {forest.clusters:,} clusters apart, and {self.wanted:,} were asked for"
        if self.micro is not None:
            unit = self.micro.units()
            values = [self.answers.get(number) for number, (u, v) in self.asked.items() if unit[u] == unit[v]]
            known = [value for value in values if value is not None]
            checked = f"of {len(known):,} that were checked {sum(value != SAME for value in known):,} were wrong"
            yield (
                f"{self.micro.items:,} items are grouped as {len(np.unique(unit)):,} micro-clusters of near items: "
                f"{checked if known else 'none was checked yet'}"
            )

    def _links(self) -> list[Link]:
        """Return the answers that hold: neither unsure nor among the conflicts."""
        refused = {conflict.answer_id for conflict in self._constraints.conflicts}
        named = ((number, value, str(number)) for number, value in self.answers.items() if value is not None)
        return [(*self.asked[number], value, name) for number, value, name in named if name not in refused]

    def _open(self, links: Sequence[Link]) -> None:
        if self.micro is None or self._rebuild is None:
            return
        opened = contradicted(self.micro, links)
        if opened != self._opened:
            self._opened = opened
            self.problem = self._rebuild(opened)
            for u, v in self.asked.values():
                self._exclude(u, v)

    def _exclude(self, u: int, v: int) -> None:
        first, second = self.problem.of_item[u], self.problem.of_item[v]
        counts = self.problem.beliefs.agreements
        counts[first, second] = counts[second, first] = EXCLUDED


@compiled  # type: ignore[untyped-decorator, unused-ignore]
def all_different(cannot: Bytes) -> int:
    """Return the size of a set of leaves that are all cannot-linked: greedily the most linked first, so a lower bound."""
    links = cannot.sum(axis=1)
    chosen = np.empty(cannot.shape[0], np.int64)
    count = 0
    for leaf in np.argsort(-links.astype(np.int64), kind="mergesort"):
        if links[leaf] < count:
            break
        fits = True
        for place in range(count):
            fits = fits and cannot[leaf, chosen[place]] != 0
        if fits:
            chosen[count] = leaf
            count += 1
    return count
