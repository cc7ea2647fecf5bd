"""Makes the placing sampler from what a user may set (`PlacingParameters`)."""

from cccount_dist.counting.methods import CountingInputs
from cccount_dist.counting.parameters import PlacingParameters
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.errorrates import parse_rates
from storage.errors import InputError


def build_placing(inputs: CountingInputs, given: PlacingParameters) -> PlacingSampler:
    if given.space == "sharp" and inputs.sharp is None:
        raise InputError("space=sharp of placing needs neighbour lists: run `cccount neighbors`, or use space=given")
    return PlacingSampler(
        inputs.vectors,
        inputs.degree,
        inputs.mean_square,
        seed=inputs.seed,
        level=inputs.level,
        grid=given.grid,
        rates=parse_rates(given.wrong_answers),
        lanes=given.lanes,
        fast=given.search != "full",
        trusting=given.search == "trusting",
        sharp=inputs.sharp() if inputs.sharp is not None and given.space == "sharp" else None,
        local=inputs.local,
        earlier=inputs.earlier,
        same_pair=given.same_pair,
        likely=given.ahead == "likely",
        one_posterior=given.interval == "one",
    )
