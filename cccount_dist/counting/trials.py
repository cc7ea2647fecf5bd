"""Replicated experiments: one seeded run of a counting method on a labelled collection, and what many of them say together.

A run is a function of the collection, the plan and its number, so runs may be made anywhere and in any order. Memory is the
collection and one sampler; a summary needs the outcomes only.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cccount_dist.counting.labelled import LabelledSet
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.counting.result import CountResult
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.oracles import LabelOracle, StubbornOracle
from storage.settings import Scalar

FIRST_SEED = 500_000  # far from the seeds of tests and notes
LOOK = 0.02  # how often a run that stops at a width looks at its interval, in parts of n
LATEST = 3.0  # when it stops at the latest, in parts of n


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same for every run."""

    method: str = "placing"
    efforts: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0)  # in parts of n pair answers
    noise: tuple[float, float] = (0.0, 0.0)  # misses, and false "same"
    repeating: float = 0.0  # share of the wrong answers that is wrong each time the same pair is shown
    page_cost: float = 3.0  # of a page in pair answers
    stop: float | None = None  # width, in parts of the estimate, at which a run stops; efforts do not count then
    parameters: Mapping[str, Scalar] = field(default_factory=dict)  # of the method


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The result at one effort, and what was spent."""

    effort: float
    spent: float  # in parts of n
    estimate: float
    low: float
    high: float
    items: int  # anchors, or items that were placed
    details: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Summary:
    """Many runs at one effort."""

    effort: float
    runs: int
    error: float  # mean of |estimate - K| / K
    bias: float
    coverage: float
    width: float  # median, in parts of K
    items: float
    spent: float
    spent_90: float
    details: Mapping[str, float]  # means
    bias_share: float  # |bias| in parts of the standard deviation over the runs (figure A6 of the NIS paper)


def run_trial(collection: LabelledSet, plan: Plan, number: int) -> list[TrialOutcome]:
    """Run number `number`: the outcome at each effort, or at the stop."""
    if plan.stop is None:
        return list(_steps(collection, plan, plan.efforts, number))
    looks = tuple(LOOK * (look + 1) for look in range(round(LATEST / LOOK)))
    last = None
    for last in _steps(collection, plan, looks, number):
        if last.high - last.low <= plan.stop * last.estimate:
            break
    return [] if last is None else [last]


def _steps(collection: LabelledSet, plan: Plan, efforts: Sequence[float], number: int) -> Iterator[TrialOutcome]:
    items, seed = len(collection.labels), FIRST_SEED + number
    degrees = collection.degree if "degrees" in counting_method(plan.method).needs else np.zeros(items)
    sampler = make_counter(
        plan.method,
        vectors=collection.vectors,
        degree=degrees,
        seed=seed,
        parameters=plan.parameters,
        sharp=lambda: collection.sharp,
        neighbors=lambda: collection.neighbors,
    )
    oracle = _oracle(collection.labels, plan, seed)
    constraints, spent = Constraints(), 0.0
    batch = 1 if counting_method(plan.method).has("open") else 256  # a sheet rests on all answers before it
    for effort in efforts:
        budget = int(effort * items - spent)
        if budget > 0:
            tally = drive(sampler, oracle, budget=budget, constraints=constraints, batch=batch, page_cost=plan.page_cost)
            spent += tally.questions + plan.page_cost * tally.glances
        result = sampler.result()
        yield _outcome(result if plan.stop is None else result.at_stop(), effort, spent / items, items)


def _oracle(labels: NDArray[np.int64], plan: Plan, seed: int) -> LabelOracle:
    miss, false_same = plan.noise
    if plan.repeating:
        return StubbornOracle(labels, error_rate=miss, false_same=false_same, seed=seed, repeating=plan.repeating)
    return LabelOracle(labels, error_rate=miss, false_same=false_same, seed=seed)


def _outcome(result: CountResult, effort: float, spent: float, items: int) -> TrialOutcome:
    estimate = float(items) if result.estimate is None else result.estimate
    return TrialOutcome(effort, spent, estimate, result.low, result.high, result.anchors, dict(result.details))


def summarise(outcomes: Sequence[TrialOutcome], clusters: int) -> Summary:
    """Return what runs at one effort say, where `clusters` is the truth."""
    relative = np.array([outcome.estimate for outcome in outcomes]) / clusters - 1.0
    spent = np.array([outcome.spent for outcome in outcomes])
    names = sorted(set.intersection(*(set(outcome.details) for outcome in outcomes)))
    return Summary(
        effort=outcomes[0].effort,
        runs=len(outcomes),
        error=float(np.abs(relative).mean()),
        bias=float(relative.mean()),
        coverage=float(np.mean([outcome.low <= clusters <= outcome.high for outcome in outcomes])),
        width=float(np.median([(outcome.high - outcome.low) / clusters for outcome in outcomes])),
        items=float(np.mean([outcome.items for outcome in outcomes])),
        spent=float(spent.mean()),
        spent_90=float(np.quantile(spent, 0.9)),
        details={name: float(np.mean([outcome.details[name] for outcome in outcomes])) for name in names},
        bias_share=float(abs(relative.mean()) / deviation) if (deviation := float(relative.std())) > 0 else 0.0,
    )
