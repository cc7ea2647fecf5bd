"""Makes the sampler of a count by sheets from what a user may set (`CatalogueParameters`)."""

from cccount_dist.clustering.catalogue.parameters import CatalogueParameters
from cccount_dist.clustering.catalogue.rates import SheetRates
from cccount_dist.clustering.evidence.parameters import given_rates
from cccount_dist.counting.methods import CountingInputs
from cccount_dist.counting.sheets.sheets_sampler import SheetsSampler
from storage.errors import InputError


def build_sheets(inputs: CountingInputs, given: CatalogueParameters) -> SheetsSampler:
    if inputs.neighbors is None:
        raise InputError("sheets needs neighbour lists: run `cccount neighbors`, or use --method placing")
    rates = given_rates(given.wrong_answers)
    return SheetsSampler(
        inputs.vectors,
        inputs.neighbors(),
        inputs.degree,
        given,
        seed=inputs.seed,
        level=inputs.level,
        rates=None if rates is None else SheetRates.of(*rates),
        right=rates is not None and max(rates) == 0.0,
        earlier=inputs.earlier,
    )
