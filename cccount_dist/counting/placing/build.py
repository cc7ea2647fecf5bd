"""Makes the placing sampler from what a user may set.

Parameters: `grid` (clusters on a page, 1 to 24), `wrong_answers` (none, estimate, or two rates, see `rates.parse_rates`),
`lanes` (items under way at once: as many people never wait for each other), `search` (full, or fast: `fast.py`).
"""

from typing import TYPE_CHECKING

from cccount_dist.counting.parameters import Parameters
from cccount_dist.counting.placing.rates import parse_rates
from cccount_dist.counting.placing.sampler import PlacingSampler

if TYPE_CHECKING:
    from cccount_dist.counting.methods import CountingInputs


def build_placing(inputs: "CountingInputs") -> PlacingSampler:
    given = Parameters("placing", inputs.parameters)
    grid, lanes = given.whole("grid", 1, least=1), given.whole("lanes", 1, least=1)
    fast = given.choice("search", "full", ("full", "fast")) == "fast"
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
    )
