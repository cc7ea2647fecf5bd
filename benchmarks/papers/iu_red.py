"""IU_RED: error over the share of similarities (figures 2 and 3), one step (table 1), noise and cost (figure 5, table 2).

The photographs of section 6.3 are not open to us: made ratings of two groups stand in, from 1 to 10 and divided by 10, as people
gave them. As printed, each pair has three ratings, and the error is that beside the clustering of all medians.
"""

from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.papers.experiment import Case, Done, Dots, Experiment, Panel, Row, Value, by, curves_of, means, values_of
from benchmarks.spectral_sets import ENOUGH, Floats, Labels, Sets, complete, data_sets, error, gaussians, waveforms
from benchmarks.spectral_step import twenty_steps
from cccount_dist.clustering.methods import grouping_method, make_grouper, without_vectors
from cccount_dist.sampling.types import Answer

SEPARATIONS = (2.0, 3.0, 4.0, 6.0)
METHODS = ("iu-red-pure", "iu-red", "s-and-t-pure", "s-and-t", "random-ratings")
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
NOISY_SHARES = (*SHARES, 0.8, 1.2)  # three ratings of every pair are 3
PRICE = 0.045  # US$ for a rating, section 6.3
NOISE = 0.15  # deviation of a made rating: the paper's are people's
RULES = ("IU_RED", "S&T")
PRINTED_COST = {"random-ratings": 53.0, "s-and-t-pure": 70.0, "s-and-t": 32.0, "iu-red-pure": 17.0, "iu-red": 21.0}  # table 2


@lru_cache(maxsize=8)
def similarities(name: str, items: int) -> tuple[Floats, Labels]:
    """Return the similarities and the groups that all of them give."""
    if name.startswith("gaussians"):
        w, _ = gaussians(float(name.split()[1]), items)
    else:
        w, _ = pairs_of_classes()[name]
    return w, complete(w)


@lru_cache(maxsize=1)
def pairs_of_classes() -> Sets:
    """Return the sets of figure 3 and table 1: iris, wine, digits (for pendigits) and waveforms, two classes each."""
    found = {name: one for name, one in data_sets().items() if "Gaussians" not in name}
    return found | {"waveform 1/2": waveforms()}


def structureless() -> Floats:
    """Return the matrix of the last row of table 1: uniform similarities."""
    uniform = np.triu(np.random.default_rng(9).random((100, 100)), 1)
    return np.asarray(uniform + uniform.T)


def curve_cases(*, full: bool) -> list[dict[str, Value]]:
    """Figure 2 is of 200 items; 50 show the same in a fiftieth of the time."""
    sets = [(f"gaussians {separation:g}", items) for items in ((50, 200) if full else (50,)) for separation in SEPARATIONS]
    sets += [(name, len(one[1])) for name, one in pairs_of_classes().items() if full or name == "iris 0/1"]
    return [
        {"set": name, "items": items, "method": method, "mode": "exact", "run": run}
        for name, items in sets for method in METHODS for run in range(20 if full else 3)
    ]  # fmt: skip


def noisy_cases(*, full: bool) -> list[dict[str, Value]]:
    return [
        {"set": "gaussians 6", "items": 100 if full else 40, "method": method, "mode": mode, "run": run}
        for mode in ("paper-median", "paper-noisy", "paper") for method in METHODS for run in range(20 if full else 3)
    ]  # fmt: skip


def measure(_: Path, case: Case) -> Row:
    """Follow a method to each share; also say what it cost to come to an error of 5 %."""
    w, wanted = similarities(str(case["set"]), int(case["items"]))
    n, mode, run = len(w), str(case["mode"]), int(case["run"])
    ratings = w[None] if mode == "exact" else made_ratings(w, run)
    if mode != "exact":
        wanted = complete(np.median(ratings, axis=0))
    method = str(case["method"])
    parameters = grouping_method(method).preset("paper" if mode == "exact" else mode)
    sampler = make_grouper(method, without_vectors(np.ones(n, np.bool_), run, 2, parameters))
    pairs = n * (n - 1) // 2
    row: Row = {}
    rated: Counter[tuple[int, int]] = Counter()
    reached = None
    for share in SHARES if mode == "exact" else NOISY_SHARES:
        while rated.total() < share * pairs and (questions := sampler.ask(1)):
            for q in questions:
                sampler.tell([Answer(q.id, q.u, q.v, float(ratings[rated[q.u, q.v], q.u, q.v]))])
                rated[q.u, q.v] += 1
            if reached is None and rated.total() % 10 == 0 and error(sampler.result().labels, wanted) <= ENOUGH:
                reached = rated.total()
        if rated.total() >= min(share, 1.0) * pairs:
            row[f"error at {share:g}"] = error(sampler.result().labels, wanted)
    if reached is not None:
        row |= {"ratings to 5 %": float(reached), "share to 5 %": reached / pairs, "US$ to 5 %": reached * PRICE}
    return row


def made_ratings(w: Floats, run: int) -> Floats:
    """Return three ratings of every pair (3, n, n), on the scale of ten."""
    noise = np.triu(np.random.default_rng(run).normal(0.0, NOISE, (3, *w.shape)), 1)
    return np.asarray(np.clip(np.round(w + noise + noise.transpose(0, 2, 1), 1), 0.1, 1.0))


def table(done: Done) -> list[str]:
    shares = [share for share in NOISY_SHARES if any(f"error at {share:g}" in row for _, row in done)]
    columns = (*(f"error at {share:g}" for share in shares), "came to 5 %", "share to 5 %", "US$ to 5 %")
    counted = [(case, row | {"came to 5 %": float("share to 5 %" in row)}) for case, row in done]
    return means(counted, ("set", "items", "mode", "method"), columns)


def panels(done: Done) -> list[Panel | Dots]:
    def points(_: Case, row: Row) -> list[tuple[float, float]]:
        return [(share, row[f"error at {share:g}"]) for share in NOISY_SHARES if f"error at {share:g}" in row]

    return [
        Panel(
            f"{name}, {items} items, {mode}",
            "share of n(n-1)/2",
            "error",
            curves_of(mine, lambda case: str(case["method"]), points),
        )
        for name, of_set in by(done, "set").items()
        for items, of_size in by(of_set, "items").items()
        for mode, mine in by(of_size, "mode").items()
    ]


def noisy_panels(done: Done) -> list[Panel | Dots]:
    costs: list[Panel | Dots] = [
        Dots(
            f"{mode}: cost to an error of 5 %",
            "US$",
            values_of(mine, lambda case: str(case["method"]), "US$ to 5 %"),
            PRINTED_COST,
        )
        for mode, mine in by(done, "mode").items()
    ]
    return [*panels(done), *costs]


def step_cases(*, full: bool) -> list[dict[str, Value]]:
    names = [*pairs_of_classes(), "uniform"]
    return [
        {"set": name, "share": 0.1, "chunk": chunk}
        for name in (names if full else names[:3])
        for chunk in range(100 if full else 5)
    ]


def measure_step(_: Path, case: Case) -> Row:
    """Twenty restarts of table 1: the decrease of the error by one question of each rule; 100 of these make 2,000 restarts."""
    w = structureless() if case["set"] == "uniform" else pairs_of_classes()[str(case["set"])][0]
    found = twenty_steps(w, complete(w), float(case["share"]), int(case["chunk"]), "zero")
    if not found:
        return {}
    before, *falls = (float(np.mean(column)) for column in zip(*found, strict=True))
    return {"error before": before, **{f"decrease by {rule}": fall for rule, fall in zip(RULES, falls, strict=True)}}


def step_table(done: Done) -> list[str]:
    """Return means and their standard errors."""
    lines = [
        "| set | share | runs | error before | decrease by IU_RED | decrease by S&T | IU_RED - S&T |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, mine in by(done, "set").items():
        rows = [row for _, row in mine if row]
        if not rows:
            continue
        falls = np.array([[row[f"decrease by {rule}"] for rule in RULES] for row in rows])
        falls = np.column_stack([falls, falls[:, 0] - falls[:, 1]])
        errors = falls.std(axis=0) / np.sqrt(len(falls))
        cells = " | ".join(f"{mean:+.4f} ± {error:.4f}" for mean, error in zip(falls.mean(axis=0), errors, strict=True))
        before = float(np.mean([row["error before"] for row in rows]))
        lines.append(f"| {name} | {mine[0][0]['share']} | {len(rows)} | {before:.4f} | {cells} |")
    return lines


def step_panels(done: Done) -> list[Panel | Dots]:
    name = f"decrease by {RULES[0]}"
    found = [(case, row | {"difference": row[name] - row[f"decrease by {RULES[1]}"]}) for case, row in done if name in row]

    def values(column: str) -> dict[str, float]:
        return values_of(found, lambda case: str(case["set"]), column)

    return [
        *(Dots(f"one step by {rule}", "decrease of the error", values(f"decrease by {rule}")) for rule in RULES),
        Dots("IU_RED - S&T", "decrease of the error", values("difference")),
    ]


EXPERIMENTS = (
    Experiment("iu-red-curves", "IU_RED, figures 2 and 3", curve_cases, measure, table, panels),
    Experiment("iu-red-noisy", "IU_RED, figure 5 and table 2", noisy_cases, measure, table, noisy_panels),
    Experiment("iu-red-step", "IU_RED, table 1", step_cases, measure_step, step_table, step_panels),
)
