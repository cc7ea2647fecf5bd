"""Makes the placing sampler from what a user may set.

Parameters: `grid` (clusters on a page, 1 to 24), `wrong_answers` (none, estimate, or two rates, see `rates.parse_rates`),
`lanes` (items under way at once: as many people never wait for each other), `search` (full, or fast: `fast.py`), `space` (given,
or sharp: similarities in a second space, too, `similarity/sharp.py`).
"""

from typing import TYPE_CHECKING

from cccount_dist.counting.parameters import Parameters
from cccount_dist.counting.placing.rates import parse_rates
from cccount_dist.counting.placing.sampler import PlacingSampler
from storage.errors import InputError

if TYPE_CHECKING:
    from cccount_dist.counting.methods import CountingInputs


def build_placing(inputs: "CountingInputs") -> PlacingSampler:
    given = Parameters("placing", inputs.parameters)
    grid, lanes = given.whole("grid", 1, least=1), given.whole("lanes", 1, least=1)
    fast = given.choice("search", "full", ("full", "fast")) == "fast"
    space = given.choice("space", "given", ("given", "sharp"))
    if space == "sharp" and inputs.sharp is None:
        raise InputError("space=sharp of placing needs neighbour lists: run `cccount neighbors`, or use space=given")
    rates = parse_rates(given.text("wrong_answers", "none"))
    given.finish()
    return PlacingSampler(
        inputs.vectors,
        inputs.degree,
        inputs.mean_square,
        seed=inputs.seed,
        level=inputs.level,
        grid=grid,
        rates=rates,
        lanes=lanes,
        fast=fast,
        sharp=inputs.sharp() if inputs.sharp is not None and space == "sharp" else None,
    )
