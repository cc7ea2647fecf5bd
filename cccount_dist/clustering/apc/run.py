"""The tests in progress, and what people said to them: each is a program of `steps.py` that waits for one answer.

There is always one question worked out in advance, if there can be one: so what is asked depends on the answers and on what was
asked, and never on how often somebody looked. Time: that of the tests, and O(list) to find one that may start.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar

from cccount_dist.clustering.apc.clusters import Clusters
from cccount_dist.clustering.apc.probability import refitted
from cccount_dist.clustering.apc.stages import Due, Stages
from cccount_dist.clustering.apc.steps import Asking, Ground, Program, first_questions, join_test, outlier_test
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.types import DIFFERENT
from storage.errors import CorruptionError

REFIT, AGAIN = 20, 1.5  # answers at the first refit of the map, and how much more at each later one

Pair = tuple[int, int]


def pair(u: int, v: int) -> Pair:
    return (u, v) if u < v else (v, u)


class Said:
    """What people said about pairs, seen from the tests: known by the closure of the answers, unsure, or open."""

    def __init__(self) -> None:
        self.closure = Constraints()
        self.unsure: set[Pair] = set()
        self.open: dict[Pair, int] = {}  # -> question
        self._values: dict[int, tuple[Pair, float | None]] = {}  # question -> pair and answer

    def take(self, question: int, items: Pair, value: float | None) -> bool:
        """Write an answer down. Return False if it changes an earlier one to the same question."""
        before = self._values.get(question)
        if before is None:
            self.open.pop(items, None)
        elif before[1] is None:
            self.unsure.discard(items)
        else:
            self.closure.remove(str(question))
        self._values[question] = items, value
        if value is None:
            self.unsure.add(items)
        else:
            self.closure.add(*items, value, str(question))
        return before is None

    def value(self, question: int) -> tuple[float | None] | None:
        """Return the answer to a question in a tuple, or None if there is none."""
        found = self._values.get(question)
        return None if found is None else (found[1],)

    def links(self) -> list[tuple[int, int, float]]:
        """Return the answers that hold: neither unsure nor against what came before them."""
        answers = ((*items, value) for items, value in self._values.values() if value is not None)
        return [(u, v, value) for u, v, value in answers if self.closure.known(u, v) == value]


@dataclass(slots=True, eq=False)
class Test:
    """A test in progress. It holds its clusters until it ends, so questions that are open at a time are about different ones.

    A snapshot cannot keep a program: it is begun again and told what it was told. It leaves a mark before its end only where a
    cluster passes the purity test, and begun again it goes on from there: so that is how far back it must be told.
    """

    __unsaved__: ClassVar = ("_program",)

    ground: Ground
    clusters: Clusters
    place: int  # in the list
    due: Due
    held: tuple[int, int]  # clusters
    wants: Asking | None = None
    begun: bool = False  # a question of it was asked
    _last: Asking | None = None  # that it wanted to know
    _told: list[float | None] = field(default_factory=list)
    _program: Program | None = None

    def go_on(self, value: float | None = None) -> Asking | None:
        """Tell the program what it waits for, or begin it; return what it wants to know next, None at its end."""
        if self._last is None:
            self._last = next(self._begun(), None)
            return self._last
        program = self._program or self._begun_again()
        if self._last[2] == "purity" and value != DIFFERENT:
            self._told.clear()
        else:
            self._told.append(value)
        try:
            self._last = program.send(value)
        except StopIteration:
            return None
        return self._last

    def drop(self) -> None:
        if self._program is not None:
            self._program.close()

    def _begun(self) -> Program:
        test = outlier_test if self.due.outlier else join_test
        self._program = test(self.ground, self.clusters, *self.held)
        return self._program

    def _begun_again(self) -> Program:
        program = self._begun()
        wanted = next(program)
        for value in self._told:
            wanted = program.send(value)
        if wanted != self._last:
            raise CorruptionError(f"a test that was begun again asks {wanted} and not {self._last}: delete the snapshot")
        return program


class Run:
    """Goes through the stages. It may be made anew at any time: what people said is in `said`, and is not asked again.

    Tests start in the order of the stage's list; one whose clusters are held waits for its turn. A test whose first question
    nobody has seen is dropped when an answer comes, and starts again.
    """

    def __init__(self, ground: Ground, clusters: Clusters, said: Said) -> None:
        self.ground = ground
        self.clusters = clusters
        self._said = said
        self._stages = Stages(ground, clusters, said.closure)
        self._list: list[Due | None] = []
        self._from = 0  # everything before this place in the list is done
        self._held: set[int] = set()
        self._waiting: dict[int, list[Test]] = {}  # question -> tests that wait for its answer
        self._next: list[Test] = []  # tests that want to ask, in the order of their places
        self._asked = True  # whether the list led to questions
        self.finished = False
        self._fitted = 0
        self.prepare()

    @property
    def next(self) -> Asking | None:
        """What would be asked now."""
        return self._next[0].wants if self._next else None

    def preview(self, limit: int) -> list[Asking]:
        """Return what is ready to be asked, and central items of the pairs of clusters that come after it."""
        found = [test.wants for test in self._next if test.wants is not None]
        for due in self._list[self._from :]:
            if len(found) >= limit:
                break
            names = (None, None) if due is None else (self.clusters.now(due.first), self.clusters.now(due.second))
            if due is not None and names[0] is not None and names[1] is not None and names[0] != names[1]:
                u, v = (self.clusters.leader.get(c, int(self.clusters.members[c][0])) for c in names if c is not None)
                found.append((u, v, "outlier" if due.outlier else "join"))
        return found[:limit]

    def coming(self) -> Iterator[Asking]:
        """Yield the first question, which nobody has answered, of each test that must wait: of this list, then of later ones.

        Nothing is changed. Time: that of making the later lists, when it gets so far.
        """
        for due in chain((due for due in self._list[self._from :] if due is not None), self._stages.coming()):
            first, second = self.clusters.now(due.first), self.clusters.now(due.second)
            if first is None or second is None or first == second:
                continue
            for u, v, purpose in first_questions(self.ground, self.clusters, first, second, outlier=due.outlier):
                known = self._said.closure.known(u, v)
                if known is None and pair(u, v) not in self._said.unsure:
                    yield u, v, purpose
                    break
                if known == DIFFERENT:
                    break

    def take(self, question: int) -> Asking:
        """Give the next question out under this number."""
        test = self._next.pop(0)
        test.begun = self._asked = True
        wanted = test.wants
        if wanted is None:
            raise AssertionError("a test without a question was ready")
        self._waiting.setdefault(question, []).append(test)
        self._said.open[pair(wanted[0], wanted[1])] = question
        self.prepare()
        return wanted

    def answered(self, question: int, value: float | None) -> None:
        """Go on with what waited for this answer, which `said` holds already."""
        for test in [test for test in self._next if not test.begun]:
            self._drop(test)
        for test in self._waiting.pop(question, []):
            self._go_on(test, test.go_on(value))
        self.prepare()

    def prepare(self) -> None:
        """See to it that one question is ready, if there can be one."""
        while not self._next and not self.finished:
            if (test := self._startable()) is not None:
                self._go_on(test, test.go_on())
            elif self._waiting:
                return  # the next list rests on all answers to this one
            else:
                if self.ground.parameters.refit:
                    self._refit()
                self._list = list(self._stages.following(asked=self._asked))
                self._from, self._asked = 0, False
                self.finished = not self._list

    def _refit(self) -> None:
        """Learn the map again, if there is enough to learn."""
        answers = len(self._said.closure)
        if answers >= max(REFIT, AGAIN * self._fitted):
            self._fitted = answers
            self.ground.pairs = refitted(self.ground.sample, self.ground.pseudo, self.clusters.label, self._said.links())

    def _startable(self) -> Test | None:
        """Take the first test of the list whose clusters are there and not held."""
        while self._from < len(self._list) and self._list[self._from] is None:
            self._from += 1
        for place in range(self._from, len(self._list)):
            due = self._list[place]
            if due is None:
                continue
            first, second = self.clusters.now(due.first), self.clusters.now(due.second)
            if first is None or second is None or first == second:
                self._list[place] = None
            elif first not in self._held and second not in self._held:
                self._list[place] = None
                self._held |= {first, second}
                return Test(self.ground, self.clusters, place, due, (first, second))
        return None

    def _go_on(self, test: Test, wanted: Asking | None) -> None:
        """Lead a test to its next question that nobody has answered, or to its end."""
        while wanted is not None:
            u, v, _ = wanted
            known = self._said.closure.known(u, v)
            if known is not None or pair(u, v) in self._said.unsure:
                wanted = test.go_on(known)
                continue
            if (question := self._said.open.get(pair(u, v))) is not None:  # asked before the run was made anew
                self._waiting.setdefault(question, []).append(test)
                test.begun = True
                return
            test.wants = wanted
            self._next.append(test)
            self._next.sort(key=lambda one: (not one.begun, one.place))
            return
        self._held -= set(test.held)

    def _drop(self, test: Test) -> None:
        test.drop()
        self._next.remove(test)
        self._held -= set(test.held)
        self._list[test.place] = test.due
        self._from = min(self._from, test.place)
