"""What was answered, counted in one way everywhere: reports, the progress page, `cccount status` and messages read it from here.

answer   one look that somebody answered and did not take back: a pair, or a whole page. What says how much was done counts these
pair     an answer to two pictures
page     an answer to one picture and up to 24 others at a glance (`glances` in JSON); its cells are no answers of their own
check    an answer that tells about the person only: gold, or a repeat. It is no part of the answers
free     a question that nobody had to be asked, because it follows from others
carried  what people said in other campaigns of the workspace

The campaign's answers are questions that are settled. Several people may look at one: then the totals of people add up to the
answers and the *further votes*. In a budget a page counts as the pairs that take a person as long. Time and memory: the rows of
the log, once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from cccount_dist.campaign.activity import costs_of
from cccount_dist.campaign.costs import Costs, learn_costs
from cccount_dist.sampling.ledger import OUTSIDE, Ledger, LoggedAnswer, is_carried, is_check
from cccount_dist.sampling.logged import answers_of
from storage.campaigns import CampaignFolder
from storage.settings import Goal

_NEWEST = 24_000  # rows of the log that say what an answer takes: a thousand sheets


@dataclass(frozen=True, slots=True)
class PersonsTotal:
    """What one person answered."""

    name: str
    pairs: int = 0
    pages: int = 0
    checks: int = 0

    @property
    def answers(self) -> int:
        return self.pairs + self.pages


@dataclass(frozen=True, slots=True)
class Effort:
    """What a campaign's answers took, and who gave them."""

    pairs: int = 0
    pages: int = 0
    free: int = 0
    carried: int = 0
    people: tuple[PersonsTotal, ...] = ()
    waits: tuple[float, ...] = ()  # seconds that somebody at the page had nothing to answer, as the server of this host noted
    costs: Costs | None = None  # what answers take, as measured; None: nobody looked

    @property
    def answers(self) -> int:
        """Pairs and pages that are settled."""
        return self.pairs + self.pages

    @property
    def given(self) -> int:
        """Pairs and pages that people answered, each person's counted."""
        return sum(person.answers for person in self.people)

    @property
    def further(self) -> int:
        """Votes beyond the first on a question, and votes on questions that need more of them."""
        return self.given - self.answers

    @property
    def checks(self) -> int:
        return sum(person.checks for person in self.people)

    def spent(self, goal: Goal) -> float:
        """How much of the budget is used."""
        return self.pairs + self.pages * goal.page_cost

    def seconds(self, goal: Goal) -> float:
        """What the answers took people, by the cost model."""
        return self.costs_or(goal).seconds(self.pairs, self.pages)

    def costs_or(self, goal: Goal) -> Costs:
        """What an answer takes: as measured, or what the goal says."""
        if self.costs is not None:
            return self.costs
        return learn_costs((), (), pair_seconds=goal.pair_seconds, page_seconds=goal.page_seconds)


def effort_of(ledger: Ledger, waits: tuple[float, ...] = (), costs: Costs | None = None) -> Effort:
    """Return what the log says now."""
    rows = ledger.rows()
    return Effort(ledger.questions, ledger.glances, ledger.inferred, ledger.carried, _people(rows), waits, costs)


def measured_costs(folder: CampaignFolder) -> Costs:
    """Return what answers take people here, by the newest in the log; by the goal's numbers if no people answer.

    A campaign of cccount 0.1 goes on as it began, with the goal's numbers, until a new epoch begins.
    """
    goal = folder.goal()
    learns = goal.oracle == "people" and folder.epochs()[-1].knowledge
    rows = answers_of(folder.log.answers(since=max(0, folder.log.tip()[0] - _NEWEST))) if learns else []
    return costs_of(rows, goal)


def _people(rows: Iterable[LoggedAnswer]) -> tuple[PersonsTotal, ...]:
    """Everybody's total, whoever answered most first."""
    pairs: dict[str, int] = {}
    pages: dict[str, set[int]] = {}
    checks: dict[str, set[object]] = {}
    for row in rows:
        if not row.annotator or not row.is_vote or is_carried(row):
            continue
        if is_check(row.source):
            checks.setdefault(row.annotator, set()).add(row.id if row.page is None else row.page)
        elif row.question_id == OUTSIDE:
            continue
        elif row.page is None:
            pairs[row.annotator] = pairs.get(row.annotator, 0) + 1
        else:
            pages.setdefault(row.annotator, set()).add(row.page)
    names = {*pairs, *pages, *checks}
    found = [PersonsTotal(n, pairs.get(n, 0), len(pages.get(n, ())), len(checks.get(n, ()))) for n in names]
    return tuple(sorted(found, key=lambda person: (-person.answers, person.name)))


__all__ = ["Effort", "PersonsTotal", "effort_of", "measured_costs"]
