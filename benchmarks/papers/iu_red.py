"""IU_RED: error over the share of similarities (figures 2 and 3), one step (table 1), noise and cost (figure 5, table 2)."""

from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.papers.experiment import Case, Done, Dots, Experiment, Panel, Row, Value, by, curves_of, means, values_of
from benchmarks.spectral_sets import Floats, Labels, complete, data_sets, error, gaussians
from benchmarks.spectral_step import twenty_steps
from cccount_dist.clustering.methods import grouping_method, make_grouper, without_vectors
from cccount_dist.sampling.types import Answer

SEPARATIONS = (2.0, 3.0, 4.0, 6.0)
METHODS = ("iu-red-pure", "iu-red", "s-and-t-pure", "s-and-t", "random-ratings")
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
PRICE = 0.045  # US$ for a rating, section 6.3
NOISE = 0.15  # deviation of a made rating: the paper's are people's


@lru_cache(maxsize=8)
def similarities(name: str, items: int) -> tuple[Floats, Labels]:
    """Return the similarities and the groups that all of them give."""
    if name.startswith("gaussians"):
        w, _ = gaussians(float(name.split()[1]), items)
    else:
        w, _ = data_sets()[name]
    return w, complete(w)


def curve_cases(*, full: bool) -> list[dict[str, Value]]:
    names = [f"gaussians {separation:g}" for separation in SEPARATIONS]
    names += [name for name in data_sets() if "Gaussians" not in name] if full else ["iris 0/1"]
    names = [name for name in names if name.startswith("gaussians") or name in data_sets()]
    return [
        {"set": name, "items": 200 if full else 50, "method": method, "mode": "exact", "run": run}
        for name in names for method in METHODS for run in range(20 if full else 3)
    ]  # fmt: skip


def noisy_cases(*, full: bool) -> list[dict[str, Value]]:
    return [
        {"set": "gaussians 6", "items": 100 if full else 40, "method": method, "mode": mode, "run": run}
        for mode in ("paper-median", "paper-noisy", "paper") for method in METHODS for run in range(20 if full else 3)
    ]  # fmt: skip


def measure(_: Path, case: Case) -> Row:
    """Follow a method to each share; with noise also say what it cost to come to an error of 5 %."""
    w, wanted = similarities(str(case["set"]), int(case["items"]))
    n, mode, run = len(w), str(case["mode"]), int(case["run"])
    preset = "paper" if mode == "exact" else mode
    method = str(case["method"])
    parameters = grouping_method(method).preset(preset)
    sampler = make_grouper(method, without_vectors(np.ones(n, np.bool_), run, 2, parameters))
    random = np.random.default_rng(run)
    pairs = n * (n - 1) // 2
    row: Row = {}
    asked, reached = 0, None
    for share in SHARES:
        while asked < share * pairs and (questions := sampler.ask(1)):
            for q in questions:
                noise = 0.0 if mode == "exact" else random.normal(0.0, NOISE)
                sampler.tell([Answer(q.id, q.u, q.v, float(np.clip(w[q.u, q.v] + noise, 0.0, 1.0)))])
            asked += len(questions)
            if reached is None and asked % 10 == 0 and error(sampler.result().labels, wanted) <= 0.05:
                reached = asked
        row[f"error at {share:g}"] = error(sampler.result().labels, wanted)
    if reached is not None:
        row |= {"ratings to 5 %": float(reached), "share to 5 %": reached / pairs, "US$ to 5 %": reached * PRICE}
    return row


def table(done: Done) -> list[str]:
    columns = (*(f"error at {share:g}" for share in SHARES), "share to 5 %", "US$ to 5 %")
    return means(done, ("set", "items", "mode", "method"), columns)


def panels(done: Done) -> list[Panel | Dots]:
    def points(_: Case, row: Row) -> list[tuple[float, float]]:
        return [(share, row[f"error at {share:g}"]) for share in SHARES]

    return [
        Panel(f"{name}, {mode}", "share of n(n-1)/2", "error", curves_of(mine, lambda case: str(case["method"]), points))
        for name, of_set in by(done, "set").items()
        for mode, mine in by(of_set, "mode").items()
    ]


def step_cases(*, full: bool) -> list[dict[str, Value]]:
    sets = [name for name, one in data_sets().items() if len(one[1]) <= 120]
    return [
        {"set": name, "share": 0.1, "chunk": chunk}
        for name in (sets if full else sets[:3])
        for chunk in range(100 if full else 5)
    ]


def measure_step(_: Path, case: Case) -> Row:
    """Twenty restarts of table 1: the decrease of the error by one question of each rule; 100 of these make 2,000 restarts."""
    w, _truth = data_sets()[str(case["set"])]
    found = twenty_steps(w, complete(w), float(case["share"]), int(case["chunk"]), "zero")
    names = ("error before", "decrease by IU_RED", "decrease by S&T")
    return {name: float(np.mean(column)) for name, column in zip(names, zip(*found, strict=True), strict=True)} if found else {}


def step_table(done: Done) -> list[str]:
    return means(done, ("set", "share"), ("error before", "decrease by IU_RED", "decrease by S&T"))


def step_panels(done: Done) -> list[Panel | Dots]:
    return [
        Dots(
            f"one step by {rule}", "decrease of the error", values_of(done, lambda case: str(case["set"]), f"decrease by {rule}")
        )
        for rule in ("IU_RED", "S&T")
    ]


EXPERIMENTS = (
    Experiment("iu-red-curves", "IU_RED, figures 2 and 3", curve_cases, measure, table, panels),
    Experiment("iu-red-noisy", "IU_RED, figure 5 and table 2", noisy_cases, measure, table, panels),
    Experiment("iu-red-step", "IU_RED, table 1", step_cases, measure_step, step_table, step_panels),
)
