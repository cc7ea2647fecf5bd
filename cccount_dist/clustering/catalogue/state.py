"""Where a catalogue stands: what was asked and said, the clusters that follow from it, and what was learned from it.

Everything but the space and the weights is made again from the history when an answer is replaced (`answers.replayed`). A copy
shares the space, and copies the rest: O(32 n). Memory: the space, 32 candidates for each item, and O(cells answered).
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cccount_dist.clustering.catalogue.candidates import Rows, Scoring, score
from cccount_dist.clustering.catalogue.clusters import Clusters, Ints
from cccount_dist.clustering.catalogue.posterior import PLAIN, START
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.catalogue.sheet import Sheet
from cccount_dist.clustering.catalogue.space import Base, Space
from cccount_dist.clustering.catalogue.votes import Votes

Values = tuple[float | None, ...]
ON_CLUSTER, ON_SEED, ON_GROUP = 0, 1, 2  # Platt curves: items on cluster sheets, on seed sheets, clusters beside clusters


@dataclass(frozen=True, slots=True)
class Seen:
    """What was said of a cell that had a probability."""

    curve: int
    odds: float
    marked: bool
    glance: int


@dataclass(frozen=True, slots=True)
class Fresh:
    """What was said of an item that was in no cluster: whether it belongs to none."""

    new: bool
    glance: int
    weight: float  # less for seeds, which were chosen because they seemed to be new


@dataclass(frozen=True, slots=True)
class RandomPage:
    """What a random page said of one item."""

    glance: int
    placed: bool
    sure: float  # how likely its label was right, before the page
    right: bool  # whether the page says so
    larger: int  # cells of larger clusters: one false mark there, and the page says "not right"
    hits: int  # clusters that were marked
    alone: bool  # in no known cluster


@dataclass(frozen=True, slots=True)
class Look:
    """What was said of a small group that was compared with others: whether it is a part of one of them."""

    before: int  # times that it had been compared so
    part: float  # how likely it is one, by the marks


@dataclass
class Fit:
    """What is fitted now and then: the space, and how scores become probabilities. Replaced, never changed."""

    space: Space
    means: NDArray[np.int32]  # (n, 8)
    weight: NDArray[np.float64] = field(default_factory=lambda: START[:PLAIN].copy())
    level: float = 0.0
    platt: tuple[NDArray[np.float64], ...] = (np.array([1.0, 0.0]),) * 3
    rates: SheetRates = field(default_factory=SheetRates)
    glances: int = 0  # that it rests on

    @property
    def scoring(self) -> Scoring:
        return Scoring(self.weight, self.level, self.rates.mark, self.rates.no_mark)


@dataclass
class Book:
    """What follows from the history alone: made again from it when an answer is replaced."""

    clusters: Clusters
    votes: Votes
    glances: int = 0  # sheets that were answered
    shown: dict[int, int] = field(default_factory=dict)  # how often a cluster was shown: another member each time
    seen: list[Seen] = field(default_factory=list)
    fresh: list[Fresh] = field(default_factory=list)
    random: list[RandomPage] = field(default_factory=list)
    cells: list[tuple[int, int, bool]] = field(default_factory=list)  # anchor, item, marked
    odd: tuple[int, int] = (0, 0)  # members that were said not to belong, and members shown, on odd-one-out sheets
    odd_size: dict[int, int] = field(default_factory=dict)  # of a cluster when it was last looked through …
    final_size: dict[int, int] = field(default_factory=dict)  # … and at the end
    checked: dict[int, int] = field(default_factory=dict)  # pages on which a small cluster was compared
    paged: dict[int, int] = field(default_factory=dict)  # pages that an item had
    looks: list[Look] = field(default_factory=list)  # at small groups
    drawn: list[tuple[int, int, int]] = field(default_factory=list)  # random items, clusters founded before, page
    bad_anchors: frozenset[tuple[int, int]] = frozenset()
    unclear: dict[int, int] = field(default_factory=dict)  # cells of an item of which nobody could tell
    queue: tuple[tuple[int, bool], ...] = ()  # items that need another page, and whether it is a random page's
    marks: tuple[int, int] = (0, 0)  # cells that were marked, and all

    def copy(self) -> "Book":
        return replace(
            self, clusters=self.clusters.copy(), votes=self.votes.copy(), shown=dict(self.shown), seen=list(self.seen),
            fresh=list(self.fresh), random=list(self.random), cells=list(self.cells), odd_size=dict(self.odd_size),
            final_size=dict(self.final_size), checked=dict(self.checked), paged=dict(self.paged), unclear=dict(self.unclear),
            looks=list(self.looks), drawn=list(self.drawn),
        )  # fmt: skip


@dataclass
class State:
    """A fit, a book, and the rows of all items by both. `own` (n,) is how likely each placed item is in the right cluster."""

    base: Base
    fit: Fit
    book: Book
    rows: Rows
    own: NDArray[np.float64]  # (n,)
    cells: int  # of a sheet
    random_every: int
    seed: int
    sure: float = 0.5  # how likely a mark has to make it that an item belongs to a cluster, for the item to join it
    asked: list[Sheet] = field(default_factory=list)
    history: list[tuple[bool, int]] = field(default_factory=list)  # (True: asked, False: answered), page
    values: dict[int, Values] = field(default_factory=dict)  # of the pages that were answered
    outside: dict[tuple[int, int], bool] = field(default_factory=dict)  # pairs that are known from elsewhere

    def copy(self) -> "State":
        return replace(
            self, book=self.book.copy(), rows=self.rows.copy(), own=self.own.copy(), asked=list(self.asked),
            history=list(self.history), values=dict(self.values), outside=dict(self.outside),
        )  # fmt: skip

    @property
    def careful(self) -> bool:
        """Whether a mark alone does not decide: where clusters are counted, a false one would hide a class."""
        return self.sure > 0.5

    @property
    def items(self) -> int:
        return len(self.own)

    @property
    def open(self) -> list[Sheet]:
        """The sheets that wait for answers."""
        return [sheet for sheet in self.asked if sheet.page not in self.values]

    def score(self, items: "Ints | list[int]", *, leave: bool = False) -> Rows:
        """Return the rows of some items as things are now."""
        book = self.book
        return score(
            np.asarray(items, np.int64), self.fit.space, self.fit.means, book.clusters, book.votes, self.fit.scoring, leave=leave
        )
