"""The tests in progress: each is a program of `steps.py` that waits for one answer and holds its clusters until it ends.

So questions that are open at a time are about different clusters. Tests start in the order of the stage's list; one whose
clusters are held waits for its turn. There is always one question worked out in advance, if there can be one: so what is asked
depends on the answers and on what was asked, and never on how often somebody looked. A test whose first question nobody has seen
is dropped when an answer comes, and starts again.
"""

from dataclasses import dataclass

from cccount_dist.clustering.apc.clusters import Clusters
from cccount_dist.clustering.apc.refit import refitted
from cccount_dist.clustering.apc.said import Said, pair
from cccount_dist.clustering.apc.stages import Due, Stages
from cccount_dist.clustering.apc.steps import Asking, Ground, Program, join_test, outlier_test

REFIT, AGAIN = 20, 1.5  # answers at the first refit of the map, and how much more at each later one


@dataclass(slots=True)
class Test:
    """A test in progress."""

    place: int  # in the list
    due: Due
    held: tuple[int, int]  # clusters
    program: Program
    wants: Asking | None = None
    begun: bool = False  # a question of it was asked


class Run:
    """Goes through the stages. It may be made anew at any time: what people said is in `said`, and is not asked again."""

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
            self._go_on(test, value)
        self.prepare()

    def prepare(self) -> None:
        """See to it that one question is ready, if there can be one."""
        while not self._next and not self.finished:
            if (test := self._startable()) is not None:
                self._go_on(test, None, start=True)
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
            self.ground.pairs = refitted(self.ground.sample, self.ground.pseudo, self.clusters, self._said.links())

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
                test = outlier_test if due.outlier else join_test
                return Test(place, due, (first, second), test(self.ground, self.clusters, first, second))
        return None

    def _go_on(self, test: Test, value: float | None, *, start: bool = False) -> None:
        """Lead a test to its next question that nobody has answered, or to its end."""
        try:
            wanted = next(test.program) if start else test.program.send(value)
            while True:
                u, v, _ = wanted
                known = self._said.closure.known(u, v)
                if known is not None or pair(u, v) in self._said.unsure:
                    wanted = test.program.send(known)
                    continue
                if (question := self._said.open.get(pair(u, v))) is not None:  # asked before the run was made anew
                    self._waiting.setdefault(question, []).append(test)
                    test.begun = True
                    return
                test.wants = wanted
                self._next.append(test)
                self._next.sort(key=lambda one: (not one.begun, one.place))
                return
        except StopIteration:
            self._held -= set(test.held)

    def _drop(self, test: Test) -> None:
        test.program.close()
        self._next.remove(test)
        self._held -= set(test.held)
        self._list[test.place] = test.due
        self._from = min(self._from, test.place)
