"""A sheet: one anchor, and cells that are the same as it or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from cccount_dist.sampling.questions.sheet import SHEET_QUESTION
from cccount_dist.sampling.types import Question


class Kind(Enum):
    """What a sheet is for; to people it is always the same task. The value is the purpose of its questions."""

    CLUSTER = "vote: more of a group"
    SEED = "vote: a new group"
    PAGE = "vote: the group of an item"
    RANDOM = "vote: a random item"
    CHECK = "vote: a small group"
    ODD = "confirm: who does not belong"


ITEM, GROUP = 0, 1  # what a cell stands for: itself, or the cluster that it represents


@dataclass(frozen=True, slots=True)
class Sheet:
    """Cells are items; a cluster is shown by one of its members. Clusters are found again by the items: numbers may change."""

    page: int
    first: int  # number of its first question
    kind: Kind
    anchor: int
    cells: tuple[int, ...]  # items
    roles: tuple[int, ...]  # ITEM or GROUP
    chance: tuple[float, ...]  # that a cell is the same, as it was before any calibration
    fresh: bool  # the anchor was in no cluster
    guess: int = -1  # of a random page: the cell that stands for the cluster that the item is, or would be, labelled with
    sure: float = 0.0  # … and how likely that is right
    drawn: bool = False  # the anchor is the next item of a random order

    def questions(self, present: Sequence[int]) -> list[Question]:
        """Return its questions; `present` has the collection's number of each item."""
        return [
            Question(
                self.first + place, int(present[self.anchor]), int(present[cell]), SHEET_QUESTION.name, self.kind.value, self.page
            )
            for place, cell in enumerate(self.cells)
        ]
