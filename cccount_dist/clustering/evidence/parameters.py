"""What may be set about `evidence`. Light to import."""

from dataclasses import dataclass
from typing import Annotated

from cccount_dist.options import PARAMETER_IS, Option, Options

STOP = 1.0  # expected F score at which it stops by itself; 1: only when nothing is left to ask


def given_rates(text: str) -> tuple[float, float] | None:
    """Read `estimate` (None: gold answers say it), `none` or two rates like 0.04,0.02, as counting does."""
    from cccount_dist.sampling.errorrates import parse_rates

    given = parse_rates(text)
    return None if given is None else (given.miss, given.false_same)


@dataclass(frozen=True, slots=True)
class EvidenceParameters(Options):
    """The default way to group."""

    wording = PARAMETER_IS

    stop: Annotated[
        float,
        Option(
            "Stop when the groups are expected to have this pair F score.", above=0.0, most=1.0,
            rule="above 0 and at most 1 (1: never stop before the budget)",
        ),
    ] = STOP  # fmt: skip
    steady: Annotated[
        int,
        Option(
            "Stop when this many answers in a row have changed nothing; 0: never.", least=0,
            rule="a number of answers, such as 40 (0: never stop before the budget)",
        ),
    ] = 0  # fmt: skip
    wrong_answers: Annotated[
        str,
        Option(
            "How often people say different of the same, and same of different; or as gold pairs show.",
            metavar="none|estimate|M,F",
            read=given_rates,
        ),
    ] = "estimate"
    open: Annotated[int, Option("Questions that may be open at a time; beyond 16 some are about the same groups.", least=1)] = 16
