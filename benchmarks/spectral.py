"""IU_RED beside S&T and random ratings: `python -m benchmarks.spectral speed gaps curves later each kinds step noise groups`.

Error: share of items in the wrong group, against the spectral clustering of all similarities and, in `groups`, against the truth.
Times are CPU time of one thread (`time.process_time`), so that other work on the machine matters less; without compilation.
`--runs 20 --sets iris --minutes 4 --store runs.jsonl --write docs/evidence/spectral.md`:
runs that the store has are not repeated, so a benchmark may be done bit by bit, and tables are pasted into the page.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.pasting import paste
from benchmarks.spectral_groups import groups
from benchmarks.spectral_kinds import kinds
from benchmarks.spectral_noise import noise
from benchmarks.spectral_sets import (
    ENOUGH,
    FILLINGS,
    Floats,
    Labels,
    Sets,
    all_known,
    ask_until,
    complete,
    data_sets,
    error,
    exact,
    share_to,
)  # fmt: skip
from benchmarks.spectral_step import step
from benchmarks.stored import Runs, table
from cccount_dist.clustering.spectral.assigning import place
from cccount_dist.clustering.spectral.parameters import Missing
from cccount_dist.clustering.spectral.spectral_sampler import Rule, SpectralSampler
from cccount_dist.sampling.types import Answer

METHODS: dict[str, tuple[Rule, bool]] = {
    "random-ratings": ("random", True),
    "s-and-t-pure": ("s-and-t", False),
    "s-and-t": ("s-and-t", True),
    "iu-red-pure": ("iu-red", False),
    "iu-red": ("iu-red", True),
}
LATER = (0.2, 0.25, 0.3, 0.4, 0.5)
Courses = dict[str, list[dict[Missing, list[float]]]]  # the errors of every run, by method


def speed() -> list[str]:
    """Time of a chosen question after 12 n random ratings of two overlapping Gaussians."""
    rows = []
    for items, goal, times in ((200, 4, 40), (1000, 20, 20), (2000, 35, 12), (5000, 150, 8)):
        random = np.random.default_rng(0)
        features = random.standard_normal((items, 2)) + 4.0 * (np.arange(items) % 2)[:, None] * np.array([1.0, 0.0])
        features /= np.ptp(features, axis=0)
        pairs = np.unique(np.sort(random.integers(0, items, (12 * items, 2)), axis=1), axis=0)
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
        sampler = SpectralSampler(items, 2, interleaved=False, repeats=1)
        sampler._graph.add(pairs[:, 0], pairs[:, 1])
        sampler._asked = {(u, v) for u, v in pairs.tolist()}
        for u, v in sampler._asked:
            sampler._graph.set(u, v, float(np.exp(-np.square(features[u] - features[v]).sum() / 0.08)), 0.0)
        taken = []
        for _ in range(times + 3):
            before = time.process_time()
            (question,) = sampler.ask(1)
            near = float(np.square(features[question.u] - features[question.v]).sum())
            sampler.tell([Answer(question.id, question.u, question.v, float(np.exp(-near / 0.08)))])
            taken.append(1e3 * (time.process_time() - before))
        before = time.process_time()
        sampler.result()
        found, read = taken[3:], 1e3 * (time.process_time() - before)  # the first ones compile, and start cold
        cells = [f"{value:.1f} ms" for value in (np.median(found), np.mean(found), max(found), read)]
        rows.append([f"{items:,}", f"{goal} ms", *cells])
    return table(["items", "goal", "median", "mean", "largest", "reading the result"], rows)


def gaps(sets: Sets) -> list[str]:
    """How well all similarities determine the two groups: what can be asked of a few of them."""
    rows = []
    for name, (similarity, truth) in sets.items():
        found = all_known(similarity)
        second = np.abs(found.block[:, 0]) * np.sqrt(len(truth))
        wanted = place(found.block, None).labels
        small = min(wanted.mean(), 1.0 - wanted.mean())
        near = [f"{np.mean(second < limit):.0%}" for limit in (0.1, 0.2)]
        sits = len(truth) ** 2 / np.sum(second**4)  # 1 / Σ v2⁴: n if all entries are as large, 1 if it is a single item
        cells = [f"{error(wanted, truth):.3f}", f"{small:.0%}", f"{found.values[0] / found.values[1]:.2f}"]
        rows.append([name, str(len(truth)), *cells, *near, f"{sits:.1f}"])
    head = ["set", "items", "error against the truth", "smaller group", "λ2/λ3"]
    head += ["items with \\|v2\\| √n below 0.1", "below 0.2", "items that v2 sits on"]
    return table(head, rows)


def shares_of(items: int, method: str) -> list[float]:
    """Where the error is measured; only interleaved IU_RED goes on to a fifth: does it stall?"""
    early = [0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1] if items <= 120 else [0.01, 0.015, 0.02, 0.03, 0.04, 0.05]
    return early + ([0.15, 0.2] if items <= 120 else [0.1, 0.2]) if method == "iu-red" else early


def curves(runs: int, sets: Sets, done: Runs) -> list[str]:
    """The share of all similarities after which the mean error is 5 %, for each method; both ways to fill in."""
    wanted = {name: complete(similarity) for name, (similarity, _) in sets.items()}
    for seed in range(runs):
        for name, (similarity, _) in sets.items():
            for method in METHODS:
                shares = shares_of(len(similarity), method)
                work = partial(one_course, method, seed, similarity, wanted[name], shares)
                done.get(f"curves, {name}, {method}, {seed}", work)
    return summary(found_courses(runs, sets, done))


def each(runs: int, sets: Sets, done: Runs) -> list[str]:
    """The mean errors themselves, from the runs that `curves` has done: a page of its own."""
    lines = []
    for name, (items, courses) in found_courses(runs, sets, done).items():
        if any(courses.values()):
            lines += [f"## {name}", "", *show_curves(courses, items), ""]
    return lines[:-1]


def found_courses(runs: int, sets: Sets, done: Runs) -> dict[str, tuple[int, Courses]]:
    """The number of items of every set, and the courses that were run."""
    some = {name: {method: list(done.of(f"curves, {name}, {method}", runs)) for method in METHODS} for name in sets}
    return {name: (len(sets[name][1]), courses) for name, courses in some.items()}


def summary(found: dict[str, tuple[int, Courses]]) -> list[str]:
    """The share of all similarities after which the mean error is 5 %, for each method: with 0 for what is missing / guessed."""
    rows = []
    for name, (items, courses) in found.items():
        if all(courses.values()):
            means = {m: [np.mean([one[missing] for one in c], axis=0) for missing in FILLINGS] for m, c in courses.items()}
            cells = [" / ".join(share_to(ENOUGH, shares_of(items, m), mean) for mean in both) for m, both in means.items()]
            bad = [sum(one[missing][-1] > ENOUGH for one in courses["iu-red"]) for missing in FILLINGS]
            others = min(len(some) for method, some in courses.items() if method != "iu-red")
            rows.append([name, *cells, f"{bad[0]} / {bad[1]} of {len(courses['iu-red'])}", str(others)])
    return table(["set", *METHODS, "iu-red: runs above 5 % at 20 %", "runs of the others"], rows)


def one_course(method: str, seed: int, similarity: Floats, wanted: Labels, shares: Sequence[float]) -> dict[Missing, list[float]]:
    """The errors after shares of all similarities, by what the result takes a missing one for."""
    rule, interleaved = METHODS[method]
    sampler = SpectralSampler(len(wanted), 2, seed=seed, rule=rule, interleaved=interleaved)
    courses: dict[Missing, list[float]] = {missing: [] for missing in FILLINGS}
    for share in shares:
        ask_until(sampler, exact(similarity), round(share * len(wanted) * (len(wanted) - 1) / 2))
        for missing in FILLINGS:
            sampler._missing = missing
            courses[missing].append(error(sampler.result().labels, wanted))
    return courses


def later(runs: int, sets: Sets, done: Runs) -> list[str]:
    """Interleaved IU_RED beyond a fifth, for sets that have more than 5 % errors there: does it stall?"""
    for seed in range(runs):
        for name, (similarity, _) in sets.items():
            work = partial(one_course, "iu-red", seed, similarity, complete(similarity), LATER)
            done.get(f"later, {name}, {seed}", work)
    rows = []
    for name in sets:
        some = list(done.of(f"later, {name}", runs))
        for missing, title in zip(FILLINGS, ("0", "guessed"), strict=True):
            if some:
                found = np.array([one[missing] for one in some])
                cells = [f"{mean:.3f} ({above})" for mean, above in zip(found.mean(0), (found > ENOUGH).sum(0), strict=True)]
                rows.append([name, title, *cells, str(len(some))])
    return table(["set", "missing", *(f"{100 * share:g}%" for share in LATER), "runs"], rows)


def show_curves(courses: Courses, items: int) -> list[str]:
    rows = []
    most = shares_of(items, "iu-red")
    for missing, title in zip(FILLINGS, ("0", "guessed"), strict=True):
        for method, some in courses.items():
            if some:
                mean = np.mean([one[missing] for one in some], axis=0)
                rows.append([method, title, *(f"{value:.3f}" for value in mean), *[""] * (len(most) - len(mean)), str(len(some))])
    return table(["method", "missing", *(f"{100 * share:g}%" for share in most), "runs"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["speed", "gaps", "curves", "step", "noise", "groups"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run later than this")
    parser.add_argument("--sets", default="", help="only data sets whose name has one of these words in it, with commas between")
    parser.add_argument("--store", type=Path, help="a file of runs; those that it has are not repeated")
    parser.add_argument("--write", type=Path, help="a page to paste the tables into")
    given = parser.parse_args()
    done = Runs(given.store, time.monotonic() + 60.0 * given.minutes)
    sets = {name: one for name, one in data_sets().items() if any(word in name for word in given.sets.split(","))}
    works: dict[str, Callable[[], list[str]]] = {
        "speed": speed,
        "gaps": lambda: gaps(sets),
        "curves": lambda: curves(given.runs, sets, done),
        "later": lambda: later(given.runs, sets, done),
        "each": lambda: each(given.runs, sets, done),
        "kinds": lambda: kinds(given.runs, sets, done),
        "step": lambda: step(given.runs, sets, done),
        "noise": lambda: noise(given.runs, sets, done),
        "groups": lambda: groups(given.runs, done),
    }
    for part in given.parts:
        lines = works[part]()
        print("\n".join([f"## {part}", "", *lines, ""]), flush=True)
        if given.write:
            paste(given.write, part, ["", *lines, ""])


if __name__ == "__main__":
    main()
