"""What may be set about `catalogue`. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.clustering.evidence.parameters import given_rates
from cccount_dist.options import PARAMETER_IS, Option, Options

CELLS = 24  # of a sheet: fewer make clusters fall off the page, and fragments follow
OPEN_SHEETS = 64  # that may be open at a time when people answer


@dataclass(frozen=True, slots=True)
class CatalogueParameters(Options):
    """Grouping by sheets."""

    wording = PARAMETER_IS

    cells: Annotated[int, Option("Cells of a sheet.", least=2, most=CELLS, rule=f"a whole number from 2 to {CELLS}")] = CELLS
    random_every: Annotated[
        int,
        Option("One sheet in this many is a random page, from which the quality is measured.", least=2),
    ] = 8
    wrong_answers: Annotated[
        str,
        Option(
            "How often a cell is missed, and falsely marked; or estimated from the answers.",
            metavar="none|estimate|M,F",
            read=given_rates,
        ),
    ] = "estimate"
    open: Annotated[int, Option("Sheets that may be open at a time.", least=1)] = 16
