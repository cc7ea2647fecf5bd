"""Active-HACC beside its paper and baselines: `python -m benchmarks.hacc [speed] [ratio] [curves] [iris] [large] --data FOLDER`.

Times are CPU time of one thread, so that other work on the machine matters little, and for `speed` wall time on all cores beside
it; compilation is not in them. Data: C-Zoo, Omniglot, GTSRB and market20 from the folder, digits and iris from scikit-learn.
"""

import argparse
import re
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

from benchmarks.data import npz
from benchmarks.hacc_reference import best_of, expected_changes
from benchmarks.stored import Runs, table
from cccount_dist.clustering.agreement import jcc, rwcp
from cccount_dist.clustering.baselines.random_constraints import RandomConstraints
from cccount_dist.clustering.hacc.beliefs import Beliefs, agreements, many_runs, pooled
from cccount_dist.clustering.hacc.build import knowledge_of
from cccount_dist.clustering.hacc.engine import Engine
from cccount_dist.clustering.hacc.forest import grow, order_of, squared_distances
from cccount_dist.clustering.hacc.units import condense
from cccount_dist.clustering.methods import GroupingInputs, make_grouper
from cccount_dist.clustering.pckmeans import pckmeans
from cccount_dist.clustering.result import Grouping
from cccount_dist.counting.pair_choosers import ExplorePairs
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer, Sampler
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare

Vectors = NDArray[np.float32]
Labels = NDArray[np.int64]
Links = NDArray[np.int64]


def read(folder: Path, name: str, items: int, classes: int, seed: int = 0) -> tuple[Vectors, Labels]:
    """So many items of so many classes, drawn by the seed."""
    data = np.load(npz(folder, name))
    random = np.random.default_rng(seed)
    chosen = random.permutation(int(data["y"].max()) + 1)[:classes]
    rows = np.sort(random.permutation(np.flatnonzero(np.isin(data["y"], chosen)))[:items])
    return prepare(data["x"][rows].astype(np.float32), "cosine"), np.unique(data["y"][rows], return_inverse=True)[1]


def inputs_of(x: Vectors, clusters: int | None, seed: int = 0, **parameters: int | str) -> GroupingInputs:
    near = neighbors_in_memory(x, 10, "euclidean")
    return GroupingInputs(x, near.index, near.similarity, seed, clusters, parameters)


class State:
    """Units, what was answered, and the time of the next question."""

    def __init__(self, x: Vectors, y: Labels, answers: int, *, seed: int = 1) -> None:
        self.y = y
        self.clusters = int(y.max()) + 1
        self.order = order_of(squared_distances(x))
        self.beliefs = Beliefs(agreements(many_runs(x, self.clusters, 0, 100)), 100)
        self.weight = np.ones(len(x), np.int64)
        self.pairs = [(int(u), int(v)) for u, v in np.random.default_rng(seed).integers(0, len(x), (answers, 2)) if u != v]

    def links(self) -> tuple[Links, Links]:
        pairs = np.array(self.pairs, np.int64).reshape(-1, 2)
        same = self.y[pairs[:, 0]] == self.y[pairs[:, 1]]
        return pairs[same], pairs[~same]

    def fast(
        self, threads: int | None = 1, clock: Callable[[], float] = time.process_time
    ) -> tuple[float, tuple[int, int, float]]:
        must, cannot = self.links()
        start = clock()
        forest = grow(self.order, self.weight, must, cannot, self.clusters)
        best = Engine(self.order, forest, pooled(self.beliefs, forest), threads=threads).best(np.zeros(forest.clusters, np.uint8))
        seconds = clock() - start
        assert best is not None
        return seconds, (best.first, best.second, best.value)

    def brute(self) -> tuple[float, tuple[int, int, float] | None]:
        must, cannot = self.links()
        forest = grow(self.order, self.weight, must, cannot, self.clusters)
        probability = self.beliefs.probability()[pooled(self.beliefs, forest).agreements]
        start = time.process_time()
        first, second = self.order.first, self.order.second
        values = expected_changes(first, second, self.weight, must, cannot, self.clusters, probability)
        return time.process_time() - start, best_of(values)


SETS = (("C-Zoo", "chimp_czoo_mobilenetv2", {100: 10, 500: 24, 1042: 24, 2000: 24}),
        ("Omniglot", "omniglot_hog", {100: 10, 500: 30, 1042: 62, 2000: 110}))  # fmt: skip
GOALS = {100: 3, 500: 60, 1042: 150, 2000: 500}


def speed(folder: Path) -> None:
    print("Milliseconds for a question: CPU time on one thread / wall time on all cores, means.\n")
    print("| items | goal | set, classes | no answers yet | n/4 random answers before | 2 n random answers before |")
    print("|---|---|---|---|---|---|")
    for items, goal in GOALS.items():
        for name, file, classes in SETS:
            cells = []
            for answers in (0, items // 4, 2 * items):
                state = State(*read(folder, file, items, classes[items]), answers)
                alone, together = [], []
                state.fast()
                for _ in range(12 if items < 2000 else 6):
                    seconds, best = state.fast()
                    alone.append(1000 * seconds)
                    together.append(1000 * state.fast(None, time.perf_counter)[0])
                    state.pairs.append(best[:2])
                cells.append(f"{np.mean(alone):.1f} / {np.mean(together):.1f}")
            print(f"| {items:,} | {goal} ms | {name}, {state.clusters} | {' | '.join(cells)} |", flush=True)


def ratio(folder: Path) -> None:
    fast, brute = [], []
    for _, file, classes in SETS:
        for answers in (0, 25, 100):
            state = State(*read(folder, file, 100, classes[100]), answers)
            state.fast(), state.brute()
            for _ in range(8):
                slow_seconds, slow_best = state.brute()
                seconds, best = state.fast()
                assert slow_best == best
                fast.append(seconds)
                brute.append(slow_seconds)
                state.pairs.append(best[:2])
    print("n = 100, both sets with 0, 25 and 100 random answers before, the same pair and value.\n")
    print("| questions | brute force, ms a question | fast, ms a question | times |\n|---|---|---|---|")
    print(f"| {len(fast)} | {1000 * np.mean(brute):.1f} | {1000 * np.mean(fast):.2f} | {np.sum(brute) / np.sum(fast):.0f} |")


Curve = dict[int, float]


def curve_of(sampler: Sampler[Grouping], y: Labels, budgets: Sequence[int], batch: int, enough: float = 2.0) -> Curve:
    """JCC at each of the budgets, until it is enough."""
    oracle = LabelOracle(y)
    found: Curve = {}
    asked = 0
    for budget in budgets:
        while asked < budget and not sampler.done:
            questions = sampler.ask(min(batch, budget - asked))
            sampler.tell([Answer(q.id, q.u, q.v, oracle.answer(q)) for q in questions])
            asked += len(questions)
        found[budget] = jcc(y, sampler.result().labels)
        if found[budget] >= enough:
            break
    return found


def explore_curve(x: Vectors, y: Labels, clusters: int, budgets: Sequence[int], seed: int, enough: float) -> Curve:
    """Explore-Consolidate and PCK-means (Active-PCKMeans of Basu et al.), told K."""
    chooser = ExplorePairs(x, seed, clusters=clusters)
    pairs: list[tuple[int, int]] = []
    found: Curve = {}
    for budget in budgets:
        while len(pairs) < budget and (pair := chooser.next()) is not None:
            chooser.told(len(pairs), float(y[pair[0]] == y[pair[1]]))
            pairs.append(pair)
        links = np.array(pairs, np.int64).reshape(-1, 2)
        same = y[links[:, 0]] == y[links[:, 1]]
        found[budget] = jcc(y, pckmeans(x, clusters, links[same], links[~same], seed=seed).labels)
        if len(pairs) < budget or found[budget] >= enough:
            break
    return found


def digits_of(seed: int) -> tuple[Vectors, Labels]:
    digits, labels = load_digits(return_X_y=True)
    chosen = np.sort(np.random.default_rng(seed).permutation(len(digits))[:250])
    return prepare(digits[chosen].astype(np.float32), "cosine"), labels[chosen]


def market_of(folder: Path) -> tuple[Vectors, Labels]:
    market = np.load(npz(folder, "market20"))
    return prepare(market["x"].astype(np.float32), "cosine"), market["y"].astype(np.int64)


def curves(folder: Path, done: Runs, only: str) -> None:
    """Questions to JCC .8 and JCC on the way, for each seed: of the subset for digits, of the method for the others.

    Only sets and methods that the pattern `only` is found in are run; the tables have all that was.
    """
    sets: dict[str, tuple[int, int, Callable[[int], tuple[Vectors, Labels]]]] = {
        "digits, 250 items, 10 classes": (6, 50, digits_of),
        "market20, 351 items, 20 classes": (3, 25, lambda _: market_of(folder)),
        "C-Zoo, 500 items, 24 classes": (1, 500, lambda _: read(folder, "chimp_czoo_mobilenetv2", 500, 24)),
    }
    for name, (seeds, step, load) in sets.items():
        for method in METHODS:
            for seed in range(seeds):
                if re.search(only, f"{name}, {method}"):
                    done.get(f"{name}, {method}, {seed}", partial(course, method, load, seed))
        rows = []
        budgets = [step * part for part in (0, 1, 2, 3, 4, 6, 8)]
        for method in METHODS:
            found = [dict(one) for one in done.of(f"{name}, {method}", seeds)]
            needed = [f"{max(one):,}" if one[max(one)] >= GOAL else f"> {max(one):,}" for one in found]
            on_the_way = [np.mean([one[min(max(one), budget)] for one in found]) for budget in budgets] if found else []
            rows.append([method, ", ".join(needed) or "not run", *(f"{value:.2f}" for value in on_the_way)])
        head = [name, f"questions to JCC {GOAL}", *(f"{budget:,}" for budget in budgets)]
        print("\n".join(table(head, [row for row in rows if len(row) > 2])), "\n", flush=True)


METHODS = ("one by one", "batches", "H2", "random constraints", "Explore-Consolidate", "evidence, K not told", "APC, K not told")
GOAL = 0.8


def course(method: str, load: Callable[[int], tuple[Vectors, Labels]], seed: int) -> list[tuple[int, float]]:
    """JCC after numbers of questions, until it is GOAL."""
    x, y = load(seed)
    clusters, most = int(y.max()) + 1, 16 * len(x)
    budgets = range(0, most + 1, 5 if len(x) < 400 else 25)
    told = inputs_of(x, clusters, seed, **({"effects": "local"} if method == "H2" else {}))
    if method == "Explore-Consolidate":
        curve = explore_curve(x, y, clusters, budgets[::5], seed, GOAL)
    elif method == "random constraints":
        curve = curve_of(RandomConstraints(knowledge_of(told, np.arange(len(x))), seed), y, budgets, 5, GOAL)
    elif method in ("evidence, K not told", "APC, K not told"):
        near = neighbors_in_memory(x, 50)
        inputs = GroupingInputs(x, near.index, near.similarity, seed)
        curve = curve_of(make_grouper(method.split(",")[0].lower(), inputs), y, budgets, 1, GOAL)
    else:
        curve = curve_of(make_grouper("hacc", told), y, budgets, 256 if method == "batches" else 1, GOAL)
    return list(curve.items())


def iris() -> None:
    x, y = load_iris(return_X_y=True)
    x = ((x - x.min(axis=0)) / np.ptp(x, axis=0)).astype(np.float32)
    needed = []
    for seed in range(20):
        sampler = make_grouper("hacc", inputs_of(x, 3, seed))
        asked = 0
        while round(rwcp(y, sampler.result().labels), 2) < 0.97 and asked < 50:
            sampler.tell([Answer(q.id, q.u, q.v, float(y[q.u] == y[q.v])) for q in sampler.ask(1)])
            asked += 1
        needed.append(asked)
    print("Features from 0 to 1.\n\n| set | questions to RWCP .97, seeds 0 to 19 | median |\n|---|---|---|")
    print(f"| iris | {', '.join(map(str, needed))} | {np.median(needed):.0f} |")


def condensed_run(name: str, x: Vectors, y: Labels, runs: int, questions: int) -> None:
    """Condense to 2,000 micro-clusters, ask in batches; what the condensation costs at best, and what it takes."""
    clusters = int(y.max()) + 1
    near = neighbors_in_memory(x, 20)
    start = time.process_time()
    micro = np.unique(condense(near.index, near.similarity, 2000).units(), return_inverse=True)[1]
    condensing = time.process_time() - start
    counts = np.zeros((micro.max() + 1, clusters), np.int64)
    np.add.at(counts, (micro, y), 1)
    start = time.process_time()
    sampler = make_grouper("hacc", GroupingInputs(x, near.index, near.similarity, 0, clusters, {"runs": runs}))
    built = time.process_time() - start
    start = time.process_time()
    curve = curve_of(sampler, y, [0, questions], 50)
    each = (time.process_time() - start) / questions
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"| {name} | {len(x):,} | {clusters} | {micro.max() + 1:,} | {jcc(y, counts.argmax(axis=1)[micro]):.3f} "
        f"| {condensing:.1f}, {built:.0f} s | {each:.2f} s | {curve[0]:.3f}, {curve[questions]:.3f} | {peak:.1f} GiB |",
        flush=True,
    )


def large(folder: Path) -> None:
    print("| set | items | classes | micro-clusters | JCC that they allow | condensing, building all | a question "
          "| JCC before, after 50 questions | peak memory |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|")
    condensed_run("GTSRB", *read(folder, "gtsrb_hog", 15_000, 43), runs=50, questions=50)
    condensed_run("synthetic", *synthetic(100_000), runs=50, questions=50)


def synthetic(items: int) -> tuple[Vectors, Labels]:
    """400 clusters of Zipf sizes that overlap a little: 12 latent dimensions, 64 observed ones with noise."""
    random = np.random.default_rng(0)
    weight = 1 / np.arange(1, 401) ** 0.8
    y = random.choice(400, items, p=weight / weight.sum())
    latent = random.standard_normal((400, 12))[y] + 0.45 * random.standard_normal((items, 12))
    x = latent @ random.standard_normal((12, 64)) + 0.3 * random.standard_normal((items, 64))
    return prepare(x.astype(np.float32), "cosine"), np.unique(y, return_inverse=True)[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("parts", nargs="*", default=["speed", "ratio", "curves", "iris", "large"])
    parser.add_argument("--only", default="", help="in curves: a pattern; sets and methods that it is found in are run")
    parser.add_argument("--store", type=Path, help="a file of the runs in curves; those that it has are not repeated")
    given = parser.parse_args()
    works: dict[str, Callable[[], None]] = {
        "speed": lambda: speed(given.data),
        "ratio": lambda: ratio(given.data),
        "curves": lambda: curves(given.data, Runs(given.store), given.only),
        "iris": iris,
        "large": lambda: large(given.data),
    }
    for part in given.parts:
        print(f"\n## {part}\n")
        works[part]()


if __name__ == "__main__":
    main()
