"""Passive subclustering: no questions, the K tightest groups of n images that are far from each other (section 4 of the paper).

Time O(R n d) for the nearest images of the candidates and O(K R) for each swap, of which there are about K. Memory O(R (list + d)
+ K R), never n × n and never R × n.
"""

from dataclasses import dataclass

import numpy as np

from cccount_dist.sampling.constraints import Constraints
from cccount_dist.subclustering.calibration import first_scale
from cccount_dist.subclustering.candidates import Candidates, candidate_order, restricted_size
from cccount_dist.subclustering.distances import Floats, Int64s, usable_items
from cccount_dist.subclustering.fast_pam import fast_pam
from cccount_dist.subclustering.members import Members
from cccount_dist.subclustering.parameters import STARTS
from cccount_dist.subclustering.result import EMPTY, Subclusters
from cccount_dist.subclustering.selection import Selection
from storage.errors import InputError


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may choose; part of what makes the questions of a campaign reproducible."""

    clusters: int
    size: int = 10
    seed: int = 0
    restricted: int | None = None  # size of the restricted set; None: 25 for each cluster
    start: str = "random"  # the first centroids: `random` candidates, as in the paper, or the medoids of the restricted set
    weight: float = 1.0  # of the second part of the cost; 2 is the paper's product over ordered pairs
    scale: float | None = None  # λ; None: guessed from K, then fitted to the answers
    likely: bool = False  # what is asked while answers are awaited follows from the likeliest ones

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise InputError(f"start is {self.start!r}: use {' or '.join(STARTS)}")
        if self.size < 1:
            raise InputError(f"size is {self.size}: a subcluster has 1 image or more")
        if self.weight < 0 or (self.scale is not None and self.scale <= 0):
            raise InputError(f"weight {self.weight} must not be negative, and λ {self.scale} must be above 0")


def draw_candidates(vectors: Floats, options: Options) -> Candidates:
    """Return the restricted set with its lists of nearest images."""
    usable = usable_items(vectors)
    count = restricted_size(len(usable), options.clusters, options.restricted)
    return Candidates(vectors, candidate_order(usable, options.seed), count, options.size)


def first_selection(candidates: Candidates, known: Constraints, options: Options) -> Selection:
    """Return the centroids to begin with, optimised."""
    scale = options.scale if options.scale is not None else first_scale(candidates, options.clusters)
    chosen: Int64s = np.arange(options.clusters)  # candidates are in random order
    if options.start == "pam":
        chosen = fast_pam(candidates.distances(), chosen).medoids
    selection = Selection(candidates, known, chosen, scale, options.weight)
    selection.optimise()
    return selection


def subclusters_of(selection: Selection, members: Members) -> Subclusters:
    """Return what stands where."""
    checked = (members.relation() == 1) & (members.items != EMPTY)
    return Subclusters(
        members.items.copy(), checked, members.distance.copy(), selection.surplus(), selection.scale, len(selection.candidates)
    )


def subcluster(vectors: Floats, options: Options) -> Subclusters:
    """Return K subclusters of prepared vectors."""
    known = Constraints()
    selection = first_selection(draw_candidates(vectors, options), known, options)
    return subclusters_of(selection, Members(selection.candidates, known, (), selection.chosen))
