"""Coverage of the number of animals behind their sides, over many made collections: `make sides`, docs/evidence/sides.md.

python -m benchmarks.sides 100
"""

import argparse
import sys
import time

import numpy as np

from cccount_dist.individuals.sidecount import Meetings, animals

SETTINGS: dict[str, dict[str, object]] = {
    "80 animals, rates as the model has them": {},
    "rates far more uneven (lognormal, 0.8)": {"rates": "lognormal"},
    "all rates alike": {"rates": "even"},
    "left twice as often as right": {"kinds": (1.5, 0.7, 0.3)},
    "40 animals": {"animals": 40},
    "300 animals, seldom met from both sides": {"animals": 300, "kinds": (0.6, 0.6, 0.15)},
}


def made(seed: int, *, animals: int = 80, kinds: tuple[float, float, float] = (1.0, 1.0, 0.5), rates: str = "gamma"):  # type: ignore[no-untyped-def]
    """Return how many animals were met, and what a perfect grouping knows."""
    rng = np.random.default_rng(seed)
    if rates == "gamma":
        own = rng.gamma(2.0, 0.5, animals)
    else:
        own = rng.lognormal(-0.32, 0.8, animals) if rates == "lognormal" else np.ones(animals)
    met = rng.poisson(own[:, None] * np.array(kinds))
    seen = met[met.sum(axis=1) > 0].tolist()
    groups: list[Meetings] = []
    for left, right, both in seen:
        groups += [(left, right, both)] if both else [g for g in ((left, 0, 0), (0, right, 0)) if any(g)]
    return len(seen), groups


def main(runs: int) -> None:
    print(f"| {runs} runs each | covers | too few to say | half width | error | sum of the sides |\n|---|---|---|---|---|---|")
    for name, how in SETTINGS.items():
        began, covered, silent, errors, widths, doubled = time.process_time(), 0, 0, [], [], []
        for seed in range(runs):
            truth, groups = made(seed, **how)  # type: ignore[arg-type]
            found = animals(groups, seed=seed)
            assert found.certain_low <= truth <= found.certain_high, (name, seed)
            doubled.append(found.certain_high / truth - 1)
            if found.estimate is None or found.low is None or found.high is None:
                silent += 1
                continue
            covered += found.low <= truth <= found.high
            errors.append(abs(found.estimate / truth - 1))
            widths.append((found.high - found.low) / 2 / truth)
        share = covered / max(1, runs - silent)
        numbers = f"{share:.2f} | {silent} | {np.mean(widths):.1%} | {np.mean(errors):.1%} | +{np.mean(doubled):.0%}"
        print(f"| {name} | {numbers} |", flush=True)
        print(f"{name}: {time.process_time() - began:.0f} CPU seconds", file=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=int, nargs="?", default=100, help="of each setting")
    main(parser.parse_args().runs)
