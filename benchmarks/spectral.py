"""IU_RED beside S&T and random ratings: `python -m benchmarks.spectral [speed] [curves] [step] [noise] [groups] [--runs 20]`.

Error: share of items in the wrong group, against the spectral clustering of all similarities and, in `groups`, against the truth.
Similarities are a Gaussian kernel of features scaled to 0 … 1, as in the paper, which names neither its widths nor its classes.
Times are CPU time of one thread (`time.process_time`), so that other work on the machine matters less; without compilation.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris, load_wine

from cccount_dist.clustering.spectral.graph import RatedGraph
from cccount_dist.clustering.spectral.parameters import Missing
from cccount_dist.clustering.spectral.placing import place
from cccount_dist.clustering.spectral.sampler import Rule, SpectralSampler
from cccount_dist.clustering.spectral.scan import best_of_matrix, best_pair
from cccount_dist.clustering.spectral.sensitivity import all_changes, sensitivity
from cccount_dist.clustering.spectral.spectrum import spectrum
from cccount_dist.metrics import ari
from cccount_dist.sampling.types import Answer

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]
Rate = Callable[[int, int], float]
Sets = dict[str, tuple[Floats, Labels]]
METHODS: tuple[tuple[str, Rule, bool], ...] = (
    ("random-ratings", "random", True),
    ("s-and-t-pure", "s-and-t", False),
    ("s-and-t", "s-and-t", True),
    ("iu-red-pure", "iu-red", False),
    ("iu-red", "iu-red", True),
)
ENOUGH = 0.05


def kernel(features: Floats, width: float) -> Floats:
    span = np.ptp(features, axis=0)
    scaled = (features - features.min(axis=0)) / np.where(span > 0.0, span, 1.0)
    squares = np.square(scaled).sum(axis=1)
    return np.asarray(np.exp(-np.maximum(squares[:, None] + squares - 2.0 * scaled @ scaled.T, 0.0) / (2.0 * width**2)))


def two_classes(
    features: Floats, target: Labels, classes: tuple[int, int], width: float, most: int = 50
) -> tuple[Floats, Labels]:
    rows = np.concatenate([np.flatnonzero(target == one)[:most] for one in classes])
    return kernel(features[rows], width), (target[rows] == classes[1]).astype(np.int64)


def gaussians(separation: float, items: int = 200, seed: int = 5) -> tuple[Floats, Labels]:
    random = np.random.default_rng(seed)
    truth = (np.arange(items) >= items // 2).astype(np.int64)
    return kernel(random.standard_normal((items, 2)) + separation * np.stack([truth, 0 * truth], axis=1), 0.2), truth


def data_sets() -> Sets:
    iris, wine, digits = load_iris(), load_wine(), load_digits()
    return {
        "two Gaussians, 6 deviations apart": gaussians(6.0),
        "iris 0/1": two_classes(iris.data, iris.target, (0, 1), 0.3),
        "iris 1/2": two_classes(iris.data, iris.target, (1, 2), 0.5),
        "wine 0/2": two_classes(wine.data, wine.target, (0, 2), 0.5, 60),
        "digits 0/1": two_classes(digits.data, digits.target, (0, 1), 0.7),
    }


def complete(similarity: Floats, clusters: int = 2) -> Labels:
    """The spectral clustering of all similarities."""
    found = spectrum(graph_of(similarity), clusters)
    assert found is not None
    return place(found.block, None).labels


def graph_of(similarity: Floats, known: NDArray[np.bool_] | None = None) -> RatedGraph:
    graph = RatedGraph(len(similarity))
    first, second = np.nonzero(np.triu(np.ones_like(similarity, np.bool_) if known is None else known, 1))
    graph.add(first, second)
    for u, v in zip(first.tolist(), second.tolist(), strict=True):
        graph.set(u, v, float(similarity[u, v]), 0.0)
    return graph


def error(found: Labels, wanted: Labels) -> float:
    """Share of items in the wrong one of two groups; one half before there are groups."""
    if found.min() < 0:
        return 0.5
    wrong = float(np.mean((found > 0) != (wanted > 0)))
    return min(wrong, 1.0 - wrong)


def ask_until(sampler: SpectralSampler, rate: Rate, count: int) -> None:
    """Go on until so many questions were asked in all."""
    while sampler.asked < count and (questions := sampler.ask(1)):
        sampler.tell([Answer(q.id, q.u, q.v, rate(q.u, q.v)) for q in questions])


def exact(similarity: Floats) -> Rate:
    return lambda u, v: float(similarity[u, v])


def noisy(similarity: Floats, random: np.random.Generator, times: int) -> Rate:
    """The median of so many ratings with noise."""
    return lambda u, v: float(np.median(np.clip(similarity[u, v] + random.normal(0.0, 0.2, times), 0.0, 1.0)))


def first_below(shares: Sequence[float], errors: Floats) -> float | None:
    return next((share for share, value in zip(shares, errors, strict=False) if value <= ENOUGH), None)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    for row in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def speed() -> None:
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
        found = taken[3:]  # the first ones compile, and start cold
        rows.append(
            [f"{items:,}", f"{goal} ms", f"{np.median(found):.1f} ms", f"{np.mean(found):.1f} ms", f"{max(found):.1f} ms"]
        )
    table(["items", "goal", "median", "mean", "largest"], rows)


def curves(runs: int, sets: Sets, until: float) -> None:
    """Mean error after shares of all similarities, against the clustering of all of them; both ways to fill in.

    Beyond a tenth of the similarities only IU_RED goes on, to a fifth: does it stall?
    """
    for name, (similarity, truth) in sets.items():
        wanted = complete(similarity)
        shares = [round(0.01 * part, 2) for part in ((*range(2, 11), 12, 15, 20) if len(similarity) <= 120 else range(2, 5))]
        errors: dict[Missing, dict[str, list[list[float]]]] = {m: {one[0]: [] for one in METHODS} for m in ("zero", "either")}
        for seed in in_time(runs, until):
            for method, rule, interleaved in METHODS:
                sampler = SpectralSampler(len(similarity), 2, seed=seed, rule=rule, interleaved=interleaved)
                reached = [share for share in shares if share <= 0.1 or method == "iu-red"]
                for missing, course in one_course(sampler, similarity, wanted, reached).items():
                    errors[missing][method].append(course)
        for missing, title in (("zero", "missing = 0, as in the paper"), ("either", "missing = 0 or the mean: the default")):
            own = f"all similarities against the truth: error {error(wanted, truth):.3f}"
            print(f"**{name}**, {len(similarity)} items, {own}; {title}\n")
            show_curves(errors[missing], shares)


def in_time(runs: int, until: float) -> Iterator[int]:
    """The seeds of the runs; none is begun after the time is over, so tables say how many there were."""
    for seed in range(runs):
        if seed and time.monotonic() > until:
            return
        yield seed


def one_course(
    sampler: SpectralSampler, similarity: Floats, wanted: Labels, shares: Sequence[float]
) -> dict[Missing, list[float]]:
    """The errors after shares of all similarities, by what the result takes a missing one for."""
    courses: dict[Missing, list[float]] = {"zero": [], "either": []}
    for share in shares:
        ask_until(sampler, exact(similarity), round(share * len(wanted) * (len(wanted) - 1) / 2))
        for missing in courses:
            sampler._missing = missing
            courses[missing].append(error(sampler.result().labels, wanted))
    return courses


def show_curves(errors: dict[str, list[list[float]]], shares: Sequence[float]) -> None:
    rows = []
    for method, courses in errors.items():
        mean = np.mean(courses, axis=0)
        reached = first_below(shares[: len(mean)], mean)
        cells = [f"{value:.3f}" for value in mean] + [""] * (len(shares) - len(mean))
        bad = sum(course[-1] > ENOUGH for course in courses)
        last = f"{bad} of {len(courses)} at {shares[len(mean) - 1]:.0%}"
        rows.append([method, "–" if reached is None else f"{reached:.0%}", *cells, last])
    table(["method", "≤ 5 % at", *(f"{share:.0%}" for share in shares), "runs above 5 %"], rows)


def step(runs: int, sets: Sets, until: float) -> None:
    """Decrease of the error by one question after a random subset of the similarities: the paper's table 1."""
    rows = []
    uniform = np.triu(np.random.default_rng(9).random((100, 100)), 1)
    for name, (similarity, _) in {**sets, "uniform similarities": (uniform + uniform.T, np.zeros(100, np.int64))}.items():
        wanted = complete(similarity)
        for share in (0.1, 0.2, 0.3):
            falls = [
                fall for restart in in_time(runs, until) if (fall := one_step(similarity, wanted, share, restart)) is not None
            ]
            means, deviations = np.mean(falls, axis=0), np.std(falls, axis=0) / np.sqrt(len(falls))
            cells = [f"{mean:+.4f} ± {deviation:.4f}" for mean, deviation in zip(means, deviations, strict=True)]
            rows.append([name, f"{share:.0%}", *cells, str(len(falls))])
    table(["set", "subset", "IU_RED", "S&T", "restarts"], rows)


def one_step(similarity: Floats, wanted: Labels, share: float, seed: int) -> tuple[float, float] | None:
    """How far one question of IU_RED and one of S&T lower the error; None if the subset determines no grouping."""
    graph = graph_of(similarity, np.random.default_rng(seed).random(similarity.shape) < share)
    found = spectrum(graph, 2) if graph.components()[0] == 1 else None
    if found is None or not found.is_determined:
        return None
    before = place(found.block, None)
    item = before.least_sure(set())
    changes = None if item is None else sensitivity(graph, found, item)
    if changes is None:
        return None
    falls = []
    for pair in (best_pair(graph, found.block, changes), best_of_matrix(graph, all_changes(graph))):
        assert pair is not None
        if not graph.has(*pair):
            graph.add(np.array(pair[:1]), np.array(pair[1:]))
        graph.set(*pair, float(similarity[pair]), 0.0)
        after = spectrum(graph, 2)
        graph.set(*pair, 0.0, 0.0)
        assert after is not None
        falls.append(error(before.labels, wanted) - error(place(after.block, None).labels, wanted))
    return falls[0], falls[1]


def noise(runs: int, sets: Sets, until: float) -> None:
    """Ratings with noise 0.2: repeats that are chosen, against three ratings of every pair and their median."""
    rows = []
    for name, (similarity, _) in sets.items():
        wanted = complete(similarity)
        shares = [round(0.01 * part, 2) for part in range(2, 31)]
        errors: dict[int, list[list[float]]] = {1: [], 3: []}
        for seed in in_time(runs, until):
            for times, courses in errors.items():
                sampler = SpectralSampler(len(wanted), 2, seed=seed, repeats=3 if times == 1 else 1)
                rate = noisy(similarity, np.random.default_rng(seed), times)
                course = []
                for share in shares if times == 3 else shares[:14]:
                    ask_until(sampler, rate, round(share / times * len(wanted) * (len(wanted) - 1) / 2))
                    course.append(error(sampler.result().labels, wanted))
                courses.append(course)
        one, three = (first_below(shares, np.mean(courses, axis=0)) for courses in errors.values())
        cells = [f"{one:.0%}" if one else "more than 15%", f"{three:.0%}" if three else "more than 30%"]
        rows.append([name, *cells, f"{one / three:.2f}" if one and three else "–", str(len(errors[3]))])
    table(["set", "chosen repeats", "always three", "ratio", "runs"], rows)


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


def groups(runs: int, until: float) -> None:
    """More than two groups: several eigenvectors against recursive splitting, on the same answers; ARI with the truth."""
    iris, digits = load_iris(), load_digits()
    rows_ = np.concatenate([np.flatnonzero(digits.target == one)[:30] for one in range(5)])
    same = np.arange(90) % 3
    cases: list[tuple[str, Floats, Labels]] = [
        ("iris, kernel", kernel(iris.data, 0.3), iris.target),
        ("digits 0-4, kernel", kernel(digits.data[rows_], 0.9), digits.target[rows_]),
        ("three groups, same or different", (same[:, None] == same).astype(np.float64), same),
    ]
    rows = []
    for name, similarity, truth in cases:
        items, clusters = len(similarity), len(np.unique(truth))
        pairs = items * (items - 1) // 2
        for share in (0.1, 0.2):
            found: dict[str, list[float]] = {"iu-red": [], "random": [], "paper": [], "split": []}
            for seed in in_time(runs, until):
                for method in ("iu-red", "random-ratings"):
                    sampler = SpectralSampler(items, clusters, seed=seed, rule="iu-red" if method == "iu-red" else "random")
                    ask_until(sampler, exact(similarity), round(share * pairs))
                    found["iu-red" if method == "iu-red" else "random"].append(ari(truth, sampler.result().labels))
                    if method == "iu-red":
                        sampler._missing = "zero"
                        found["paper"].append(ari(truth, sampler.result().labels))
                        square = -sampler._graph.dense()
                        np.fill_diagonal(square, 0.0)
                        found["split"].append(ari(truth, recursive(square, square > 0.0, clusters)))
            own = f"{ari(truth, complete(np.maximum(similarity, 0.01), clusters)):.2f}"
            rows.append([name, f"{share:.0%}", *(f"{np.mean(found[one]):.2f}" for one in found), own])
    head = ["set", "rated", "IU_RED", "random", "IU_RED, missing = 0", "its answers, recursive splitting", "all similarities"]
    table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["speed", "curves", "step", "noise", "groups"])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run later than this")
    parser.add_argument("--sets", default="", help="only data sets whose name has this in it")
    given = parser.parse_args()
    until = time.monotonic() + 60.0 * given.minutes
    sets = {name: one for name, one in data_sets().items() if given.sets in name}
    works: dict[str, Callable[[], None]] = {
        "speed": speed,
        "curves": lambda: curves(given.runs, sets, until),
        "step": lambda: step(20 * given.runs, sets, until),
        "noise": lambda: noise(given.runs, sets, until),
        "groups": lambda: groups(given.runs, until),
    }
    for part in given.parts:
        print(f"## {part}\n")
        works[part]()


if __name__ == "__main__":
    main()
