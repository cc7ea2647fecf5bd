"""IU_RED beside S&T and random ratings: `python -m benchmarks.spectral [speed] [gaps] [curves] [step] [noise] [groups]`.

Error: share of items in the wrong group, against the spectral clustering of all similarities and, in `groups`, against the truth.
Times are CPU time of one thread (`time.process_time`), so that other work on the machine matters less; without compilation.
`--runs 20 --sets iris --minutes 4 --store runs.jsonl --write docs/spectral.md`: runs that the store has are not repeated, so a
benchmark may be done bit by bit, and tables are pasted into the page.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

from benchmarks.pasting import paste
from benchmarks.spectral_sets import (
    ENOUGH,
    Floats,
    Labels,
    Sets,
    all_known,
    ask_until,
    complete,
    data_sets,
    error,
    exact,
    graph_of,
    noisy,
    some_classes,
    waveforms,
)  # fmt: skip
from benchmarks.stored import Runs, table
from cccount_dist.clustering.spectral.parameters import Missing
from cccount_dist.clustering.spectral.placing import place
from cccount_dist.clustering.spectral.sampler import Rule, SpectralSampler
from cccount_dist.clustering.spectral.scan import best_of_matrix, best_pair
from cccount_dist.clustering.spectral.sensitivity import all_changes, sensitivity
from cccount_dist.clustering.spectral.spectrum import spectrum
from cccount_dist.metrics import ari
from cccount_dist.sampling.types import Answer

METHODS: dict[str, tuple[Rule, bool]] = {
    "random-ratings": ("random", True),
    "s-and-t-pure": ("s-and-t", False),
    "s-and-t": ("s-and-t", True),
    "iu-red-pure": ("iu-red", False),
    "iu-red": ("iu-red", True),
}
FILLINGS: tuple[Missing, ...] = ("zero", "either")
SUBSETS = (0.1, 0.2, 0.4)
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
        cells = [f"{error(wanted, truth):.3f}", f"{small:.0%}", f"{found.values[0] / found.values[1]:.2f}"]
        rows.append([name, str(len(truth)), *cells, *near])
    head = ["set", "items", "error against the truth", "smaller group", "λ2/λ3", "items with \\|v2\\| √n below 0.1", "below 0.2"]
    return table(head, rows)


def shares_of(items: int, method: str) -> list[float]:
    """Where the error is measured; only interleaved IU_RED goes on to a fifth: does it stall?"""
    early = [0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1] if items <= 120 else [0.01, 0.015, 0.02, 0.03, 0.04, 0.05]
    return early + ([0.15, 0.2] if items <= 120 else [0.1, 0.2]) if method == "iu-red" else early


def curves(runs: int, sets: Sets, done: Runs) -> list[str]:
    """Mean error after shares of all similarities, against the clustering of all of them; both ways to fill in."""
    wanted = {name: complete(similarity) for name, (similarity, _) in sets.items()}
    for seed in range(runs):
        for name, (similarity, _) in sets.items():
            for method in METHODS:
                done.get(f"curves, {name}, {method}, {seed}", partial(one_course, method, seed, similarity, wanted[name]))
    found = {name: {method: list(done.of(f"curves, {name}, {method}", runs)) for method in METHODS} for name in sets}
    lines = [*summary({name: (len(sets[name][1]), courses) for name, courses in found.items()}), ""]
    for name, courses in found.items():
        if any(courses.values()):
            lines += [f"**{name}**", "", *show_curves(courses, len(sets[name][1])), ""]
    return lines


def summary(found: dict[str, tuple[int, Courses]]) -> list[str]:
    """The share of all similarities after which the mean error is 5 %, for each method: with 0 for what is missing / guessed."""
    rows = []
    for name, (items, courses) in found.items():
        if all(courses.values()):
            means = {m: [np.mean([one[missing] for one in c], axis=0) for missing in FILLINGS] for m, c in courses.items()}
            cells = [" / ".join(share_to(ENOUGH, shares_of(items, m), mean) for mean in both) for m, both in means.items()]
            bad = [sum(one[missing][-1] > ENOUGH for one in courses["iu-red"]) for missing in FILLINGS]
            rows.append([name, *cells, f"{bad[0]} / {bad[1]} of {len(courses['iu-red'])}"])
    return table(["set", *METHODS, "iu-red: runs above 5 % at 20 %"], rows)


def share_to(enough: float, shares: Sequence[float], errors: Floats) -> str:
    reached = next((share for share, value in zip(shares, errors, strict=True) if value <= enough), None)
    return f"> {100 * shares[-1]:g}%" if reached is None else f"{100 * reached:g}%"


def one_course(method: str, seed: int, similarity: Floats, wanted: Labels) -> dict[Missing, list[float]]:
    """The errors after shares of all similarities, by what the result takes a missing one for."""
    rule, interleaved = METHODS[method]
    sampler = SpectralSampler(len(wanted), 2, seed=seed, rule=rule, interleaved=interleaved)
    courses: dict[Missing, list[float]] = {missing: [] for missing in FILLINGS}
    for share in shares_of(len(wanted), method):
        ask_until(sampler, exact(similarity), round(share * len(wanted) * (len(wanted) - 1) / 2))
        for missing in FILLINGS:
            sampler._missing = missing
            courses[missing].append(error(sampler.result().labels, wanted))
    return courses


def show_curves(courses: Courses, items: int) -> list[str]:
    rows = []
    most = shares_of(items, "iu-red")
    for missing, title in zip(FILLINGS, ("0", "guessed"), strict=True):
        for method, some in courses.items():
            if some:
                mean = np.mean([one[missing] for one in some], axis=0)
                rows.append([method, title, *(f"{value:.3f}" for value in mean), *[""] * (len(most) - len(mean)), str(len(some))])
    return table(["method", "missing", *(f"{100 * share:g}%" for share in most), "runs"], rows)


def step(runs: int, sets: Sets, done: Runs) -> list[str]:
    """Decrease of the error by one question after a random subset of the similarities: the paper's table 1."""
    uniform = np.triu(np.random.default_rng(9).random((100, 100)), 1)
    small = {name: one for name, one in sets.items() if len(one[1]) <= 120}
    small |= {"waveform": waveforms(), "uniform similarities": (uniform + uniform.T, np.zeros(100, np.int64))}
    for chunk in range(runs):
        for name, (similarity, _) in small.items():
            for share in SUBSETS:
                work = partial(twenty_steps, similarity, complete(similarity), share, chunk)
                done.get(f"step, {name}, {share}, {chunk}", work)
    rows = []
    for name in small:
        for share in SUBSETS:
            falls = [one for chunk in done.of(f"step, {name}, {share}", runs) for one in chunk]
            if falls:
                found = np.column_stack([falls, np.array(falls) @ [0.0, 1.0, -1.0]])
                means, deviations = found.mean(axis=0), found.std(axis=0) / np.sqrt(len(found))
                cells = [f"{mean:+.4f} ± {deviation:.4f}" for mean, deviation in zip(means[1:], deviations[1:], strict=True)]
                rows.append([name, f"{share:.0%}", f"{means[0]:.3f}", *cells, str(len(found))])
    return table(["set", "subset", "error before", "IU_RED", "S&T", "IU_RED - S&T", "restarts"], rows)


def twenty_steps(similarity: Floats, wanted: Labels, share: float, chunk: int) -> list[list[float]]:
    tried = (one_step(similarity, wanted, share, 20 * chunk + restart) for restart in range(20))
    return [one for one in tried if one is not None]


def one_step(similarity: Floats, wanted: Labels, share: float, seed: int) -> list[float] | None:
    """The error, and how far one question of IU_RED and one of S&T lower it; None if the subset determines no grouping."""
    items = len(similarity)
    first, second = np.triu_indices(items, 1)
    drawn = np.random.default_rng(seed).permutation(len(first))[: round(share * len(first))]
    known = np.zeros((items, items), np.bool_)
    known[first[drawn], second[drawn]] = True
    graph = graph_of(similarity, known)
    found = spectrum(graph, 2) if graph.components()[0] == 1 else None
    if found is None or not found.is_determined:
        return None
    before = place(found.block, None)
    item = before.least_sure(set())
    changes = None if item is None else sensitivity(graph, found, item)
    if changes is None:
        return None
    falls = [error(before.labels, wanted)]
    for pair in (best_pair(graph, found.block, changes), best_of_matrix(graph, all_changes(graph))):
        assert pair is not None
        if not graph.has(*pair):
            graph.add(np.array(pair[:1]), np.array(pair[1:]))
        graph.set(*pair, float(similarity[pair]), 0.0)
        after = spectrum(graph, 2)
        graph.set(*pair, 0.0, 0.0)
        assert after is not None
        falls.append(falls[0] - error(place(after.block, None).labels, wanted))
    return falls


def noise(runs: int, sets: Sets, done: Runs) -> list[str]:
    """Ratings with noise 0.2: repeats that are chosen, against three ratings of every pair and their median."""
    shares = [round(0.01 * part, 2) for part in range(2, 31)]
    small = {name: (similarity, complete(similarity)) for name, (similarity, _) in sets.items() if len(similarity) <= 120}
    for seed in range(runs):
        for name, (similarity, wanted) in small.items():
            for times in (1, 3):
                work = partial(noisy_course, similarity, wanted, times, seed, shares)
                done.get(f"noise, {name}, {times}, {seed}", work)
    rows = []
    for name in small:
        courses = [list(done.of(f"noise, {name}, {times}", runs)) for times in (1, 3)]
        if all(courses):
            means = [np.mean(some, axis=0) for some in courses]
            one, three = (share_to(ENOUGH, shares[: len(mean)], mean) for mean in means)
            ratio = "–" if ">" in one + three else f"{float(one[:-1]) / float(three[:-1]):.2f}"
            ends = [f"{mean[shares.index(0.15)]:.3f}" for mean in means]
            rows.append([name, one, three, ratio, *ends, str(len(courses[1]))])
    head = ["set", "chosen repeats", "always three", "ratio", "error at 15 %, chosen", "always three", "runs"]
    return table(head, rows)


def noisy_course(similarity: Floats, wanted: Labels, times: int, seed: int, shares: Sequence[float]) -> list[float]:
    sampler = SpectralSampler(len(wanted), 2, seed=seed, repeats=3 if times == 1 else 1)
    rate = noisy(similarity, np.random.default_rng(seed), times)
    course = []
    for share in shares if times == 3 else shares[:14]:
        ask_until(sampler, rate, round(share / times * len(wanted) * (len(wanted) - 1) / 2))
        course.append(error(sampler.result().labels, wanted))
    return course


def recursive(similarity: Floats, known: NDArray[np.bool_], clusters: int) -> Labels:
    """Groups by splitting: always the part whose split has the smallest λ2, as long as both sides keep a twentieth of it."""
    labels = np.zeros(len(similarity), np.int64)
    splits: dict[int, tuple[float, Labels]] = {}

    def look(part: int) -> None:
        rows = np.flatnonzero(labels == part)
        graph = graph_of(similarity[np.ix_(rows, rows)], known[np.ix_(rows, rows)])
        parts, piece = graph.components()
        if parts > 1:
            splits[part] = (0.0, np.asarray(piece != np.bincount(piece).argmax(), np.int64))
        elif len(rows) > 2 and (found := spectrum(graph, 2)) is not None:
            side = place(found.block, None).labels
            balanced = min(side.mean(), 1.0 - side.mean()) >= 0.05
            splits[part] = (float(found.values[0]) if balanced else np.inf, side)

    look(0)
    for new in range(1, clusters):
        part = min(splits, key=lambda one: splits[one][0])
        rows = np.flatnonzero(labels == part)
        labels[rows[splits.pop(part)[1] > 0]] = new
        look(part)
        look(new)
    return labels


def groups(runs: int, done: Runs) -> list[str]:
    """More than two groups: several eigenvectors against recursive splitting, on the same answers; ARI with the truth."""
    iris, digits = load_iris(), load_digits()
    same = np.arange(90) % 3
    cases = {
        "iris": some_classes(iris.data, iris.target, range(3), 30),
        "digits 0-4": some_classes(digits.data, digits.target, range(5), 20),
        "three groups, same or different": ((same[:, None] == same).astype(np.float64), same),
    }
    for seed in range(runs):
        for name, (similarity, truth) in cases.items():
            done.get(f"groups, {name}, {seed}", partial(all_ways, similarity, truth, seed))
    rows = []
    for name, (similarity, truth) in cases.items():
        found = list(done.of(f"groups, {name}", runs))
        own = f"{ari(truth, complete(np.maximum(similarity, 0.01), int(truth.max()) + 1)):.2f}"
        for share, means in zip(("10%", "20%"), np.mean(found, axis=0) if found else (), strict=False):
            rows.append([name, share, *(f"{value:.2f}" for value in means), own, str(len(found))])
    head = [
        "set",
        "rated",
        "IU_RED",
        "random",
        "IU_RED, missing = 0",
        "its answers, recursive splitting",
        "all similarities",
        "runs",
    ]
    return table(head, rows)


def all_ways(similarity: Floats, truth: Labels, seed: int) -> list[list[float]]:
    """ARI at a tenth and a fifth: IU_RED, random questions, and IU_RED's answers with missing = 0 and by recursive splitting."""
    items, clusters = len(truth), int(truth.max()) + 1
    chosen = SpectralSampler(items, clusters, seed=seed)
    random = SpectralSampler(items, clusters, seed=seed, rule="random")
    found = []
    for share in (0.1, 0.2):
        for sampler in (chosen, random):
            ask_until(sampler, exact(similarity), round(share * items * (items - 1) / 2))
        values = [ari(truth, sampler.result().labels) for sampler in (chosen, random)]
        chosen._missing = "zero"
        values.append(ari(truth, chosen.result().labels))
        chosen._missing = "either"
        square = -chosen._graph.dense()
        np.fill_diagonal(square, 0.0)
        found.append([*values, ari(truth, recursive(square, square > 0.0, clusters))])
    return found


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
