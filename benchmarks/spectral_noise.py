"""Ratings with noise of deviation 0.2: repeats that are chosen, against three ratings of every pair.

Both see all their ratings, so both know how noisy they are. Read with 0 for what is missing, as in the paper, and with guesses.
"""

from functools import partial

import numpy as np

from benchmarks.spectral_sets import ENOUGH, FILLINGS, Floats, Labels, Sets, complete, error, share_to
from benchmarks.stored import Runs, table
from cccount_dist.clustering.spectral.parameters import Missing
from cccount_dist.clustering.spectral.spectral_sampler import SpectralSampler
from cccount_dist.sampling.types import Answer

DEVIATION = 0.2
CHOSEN, ALWAYS_THREE = 1, 3
FARTHEST: dict[Missing, float] = {"zero": 0.3, "either": 0.15}  # three times this for three ratings of every pair
GRID = 0.005


def shares_of(missing: Missing, times: int) -> list[float]:
    """Where the error is measured: every half per cent, and three times that where every pair is rated three times."""
    return [round(GRID * times * at, 4) for at in range(4, round(FARTHEST[missing] / GRID) + 1)]


def noise(runs: int, sets: Sets, done: Runs) -> list[str]:
    """The share of all similarities to 5 % mean error, and the ratio of the two."""
    small = {name: (similarity, complete(similarity)) for name, (similarity, _) in sets.items() if len(similarity) <= 120}
    for seed in range(runs):
        for name, (similarity, wanted) in small.items():
            for times in (CHOSEN, ALWAYS_THREE):
                done.get(f"noises, {name}, {times}, {seed}", partial(noisy_course, similarity, wanted, times, seed))
    rows = []
    for name in small:
        courses = {times: list(done.of(f"noises, {name}, {times}", runs)) for times in (CHOSEN, ALWAYS_THREE)}
        if all(courses.values()):
            cells = [cell for missing in FILLINGS for cell in _cells(courses, missing)]
            rows.append([name, *cells, str(min(len(some) for some in courses.values()))])
    heads = ("chosen", "always three", "ratio", "errors at the same cost")
    return table(["set", *(f"{start}{one}" for start in ("0: ", "guesses: ") for one in heads), "runs"], rows)


def _cells(courses: dict[int, list[dict[Missing, list[float]]]], missing: Missing) -> list[str]:
    """Shares to 5 %, their ratio, and the errors of both at the largest share that both have."""
    means = {times: np.mean([one[missing] for one in some], axis=0) for times, some in courses.items()}
    one, three = (share_to(ENOUGH, shares_of(missing, times), means[times]) for times in (CHOSEN, ALWAYS_THREE))
    ratio = "–" if ">" in one + three else f"{float(one[:-1]) / float(three[:-1]):.2f}"
    last = shares_of(missing, CHOSEN)[-1]
    near = int(np.argmin(np.abs(np.array(shares_of(missing, ALWAYS_THREE)) - last)))
    return [one, three, ratio, f"{means[CHOSEN][-1]:.3f}, {means[ALWAYS_THREE][near]:.3f}"]


def noisy_course(similarity: Floats, wanted: Labels, times: int, seed: int) -> dict[Missing, list[float]]:
    """The errors at the shares, by what the result takes a missing similarity for."""
    sampler = SpectralSampler(len(wanted), 2, seed=seed, repeats=3)
    random = np.random.default_rng(seed)
    pairs = len(wanted) * (len(wanted) - 1) / 2
    courses: dict[Missing, list[float]] = {missing: [] for missing in FILLINGS}
    for share in shares_of("zero", times):
        while sampler.asked + times <= round(share * pairs):
            rate_next(sampler, similarity, random, times)
        for missing in FILLINGS:
            if share <= times * FARTHEST[missing] + 1e-9:
                sampler._missing = missing
                courses[missing].append(error(sampler.result().labels, wanted))
    return courses


def rate_next(sampler: SpectralSampler, similarity: Floats, random: np.random.Generator, times: int) -> None:
    """Ask one question, and have its pair rated so many times at once."""
    (question,) = sampler.ask(1)
    u, v = question.u, question.v
    sampler._pairs += [(u, v)] * (times - 1)
    ratings = np.clip(similarity[u, v] + random.normal(0.0, DEVIATION, times), 0.0, 1.0)
    sampler.tell([Answer(question.id + at, u, v, float(value)) for at, value in enumerate(ratings)])
