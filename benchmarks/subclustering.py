"""Subclustering beside its paper, its baselines and active clustering.

    python -m benchmarks.subclustering --data FOLDER [--parts passive active pam baselines curves] [--sets …] [--seeds S]

Prints markdown tables; a set whose file is not in the folder is left out, and said so. Times are without compilation. `passive`,
`active` and `pam` are made collections; the others are real ones. K is given. `questions` are those to SJC .95, looked at
after every 25. Peers are given as many questions as active subclustering needed, and their clusters are cut down to n images.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import npz
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, grouping_methods, make_grouper
from cccount_dist.clustering.pckmeans import pckmeans
from cccount_dist.counting.pair_choosers import ExplorePairs
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import answer_batch
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer, Question
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.memory import peak_bytes
from cccount_dist.similarity.metrics import prepare
from cccount_dist.subclustering.baselines import (
    MOST_ITEMS,
    all_distances,
    bregman_bubbles,
    fasterpam,
    from_labels,
    from_medoids,
    k_medoids,
    normalised_cut,
)
from cccount_dist.subclustering.fast_pam import restricted_pam
from cccount_dist.subclustering.passive import Options, draw_candidates, subcluster
from cccount_dist.subclustering.scores import SubclusterScores, subcluster_scores
from cccount_dist.subclustering.subcluster_sampler import ActiveSubclustering

Vectors = NDArray[np.float32]
Labels = NDArray[np.int64]
Data = tuple[Vectors, Labels]
GOAL, STEP = 0.95, 25
# set -> file, classes (None: all), n, most questions
SETS: dict[str, tuple[str, int | None, int, int]] = {
    "C-Zoo": ("chimp_czoo_mobilenetv2", None, 10, 2500),
    "omniglot-100": ("omniglot_hog", 100, 5, 8000),
    "gtsrb": ("gtsrb_hog", None, 10, 2500),
}


def read(folder: Path, name: str) -> Data | None:
    file, classes, _, _ = SETS[name]
    try:
        data = np.load(npz(folder, file))
    except FileNotFoundError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None
    y = data["y"].astype(np.int64)
    chosen = slice(None) if classes is None else y < classes
    return prepare(data["x"][chosen].astype(np.float32), "cosine"), y[chosen]


def made(items: int, classes: int, dimensions: int = 64, seed: int = 1) -> Data:
    """Classes of sizes 56 to 1,434 as in the paper's Face-200, with images that are easy and images that are hard."""
    random = np.random.default_rng(seed)
    sizes = np.exp(np.linspace(np.log(56), np.log(1434), classes))
    y = random.choice(classes, items, p=sizes / sizes.sum())
    spread = random.uniform(0.5, 1.4, (items, 1))
    x = random.standard_normal((classes, dimensions))[y] + spread * random.standard_normal((items, dimensions))
    return prepare(x.astype(np.float32), "cosine"), y


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(*cells: str) -> None:
    row(*cells)
    print("|" + "---|" * len(cells), flush=True)


def cells_of(scores: SubclusterScores) -> tuple[str, str, str]:
    return f"{scores.sjc:.3f}", f"{scores.coverage:.3f}", f"{scores.purity:.3f}"


def passive(_: argparse.Namespace) -> None:
    subcluster(made(2000, 10)[0], Options(10))  # compile
    head("items", "d", "K", "R", "nearest images", "optimisation", "in all", "CPU", "peak memory", "SJC", "coverage", "purity")
    for items, classes in ((10_000, 40), (51_418, 200)):
        x, y = made(items, classes)
        options = Options(classes, 10)
        began, spent = time.perf_counter(), time.process_time()
        draw_candidates(x, options)
        lists = time.perf_counter() - began
        began, spent = time.perf_counter(), time.process_time()
        found = subcluster(x, options)
        whole, spent = time.perf_counter() - began, time.process_time() - spent
        scores = cells_of(subcluster_scores(y, found.members))
        row(f"{items:,}", 64, classes, found.restricted, f"{lists:.1f} s", f"{max(whole - lists, 0):.1f} s", f"{whole:.1f} s",
            f"{spent:.1f} s", f"{peak_bytes() / 2**20:.0f} MB", *scores)  # fmt: skip


def active(chosen: argparse.Namespace) -> None:
    subcluster(made(2000, 10)[0], Options(10))
    x, y = made(51_418, 200)
    options = Options(200, 10)
    sampler = ActiveSubclustering(draw_candidates(x, options), options)
    oracle = LabelOracle(y)
    head("questions", "SJC", "coverage", "purity", "CPU of a question", "its longest")
    row(0, *cells_of(subcluster_scores(y, sampler.result().members)), "", "")
    asked, spent, longest = 0, 0.0, 0.0
    while asked < chosen.questions and (questions := sampler.ask(1)):
        answers = [Answer(q.id, q.u, q.v, oracle.answer(q)) for q in questions]
        began = time.process_time()
        sampler.tell(answers)
        sampler.done  # noqa: B018  the choice of the next one is part of what a question costs
        longest = max(longest, time.process_time() - began)
        spent += time.process_time() - began
        asked += 1
        if asked % (chosen.questions // 5) == 0:
            scores = cells_of(subcluster_scores(y, sampler.result().members))
            row(f"{asked:,}", *scores, f"{1000 * spent / asked:.1f} ms", f"{1000 * longest:.0f} ms")


def pam(_: argparse.Namespace) -> None:
    x, y = made(10_000, 50)
    restricted_pam(x[:500], 5)
    head("method", "R", "distances and search, CPU", "ratio", "loss", "ratio", "SJC")
    began = time.process_time()
    found = fasterpam(distances := all_distances(x), 50)
    full, loss = time.process_time() - began, found.loss
    began = time.process_time()
    fasterpam(distances, 50)
    search = time.process_time() - began
    members = from_medoids(x, found, found.medoids, 10)
    row("kmedoids.fasterpam, full matrix", "10,000", f"{full:.2f} s ({search:.2f} s search)", 1, f"{loss:.0f}", 1,
        f"{subcluster_scores(y, members).sjc:.3f}")  # fmt: skip
    for restricted, eager in ((500, True), (1250, True), (1250, False)):
        began = time.process_time()
        found, items = restricted_pam(x, 50, restricted=restricted, eager=eager)
        spent = time.process_time() - began
        members = from_medoids(x, found, items, 10)
        row(f"Fast-PAM, {'eager' if eager else 'best swap'}", restricted, f"{spent:.2f} s", f"{spent / search:.2f} of its search",
            f"{found.loss:.0f}", f"{found.loss / loss:.3f}", f"{subcluster_scores(y, members).sjc:.3f}")  # fmt: skip


def without_questions(x: Vectors, clusters: int, size: int) -> dict[str, Callable[[int], NDArray[np.int64]]]:
    """What is compared before the first question, by name: a seed in, members out."""
    options = Options(clusters, size)

    def library(seed: int) -> NDArray[np.int64]:
        found = k_medoids(all_distances(x), clusters, seed=seed)
        return from_medoids(x, found, found.medoids, size)

    methods: dict[str, Callable[[int], NDArray[np.int64]]] = {
        "passive subclustering": lambda seed: subcluster(x, replace(options, seed=seed)).members,
        "the same, PAM start": lambda seed: subcluster(x, replace(options, seed=seed, start="pam")).members,
        "Fast-PAM": lambda seed: from_medoids(x, *restricted_pam(x, clusters, seed=seed), size),
        "BBC-S": lambda seed: bregman_bubbles(x, clusters, size, seed=seed),
        "normalised cut": lambda seed: normalised_cut(x, clusters, size, seed=seed),
        "k-medoids": library,
    }
    if len(x) > MOST_ITEMS:
        del methods["k-medoids"]
    return methods


def baselines(chosen: argparse.Namespace) -> None:
    head("set", "items", "K", "n", "method", "SJC", "coverage", "purity", "CPU")
    for name in chosen.sets:
        data = read(chosen.data, name)
        if data is None:
            continue
        x, y = data
        clusters, size = len(np.unique(y)), SETS[name][2]
        for method, run in without_questions(x, clusters, size).items():
            began = time.process_time()
            runs = [subcluster_scores(y, run(seed)) for seed in range(chosen.seeds)]
            spent = (time.process_time() - began) / len(runs)
            mean = SubclusterScores(*(float(np.mean([getattr(s, part) for s in runs])) for part in ("sjc", "coverage", "purity")))
            row(name, f"{len(y):,}", clusters, size, method, *cells_of(mean), f"{spent:.1f} s")


def until_goal(x: Vectors, y: Labels, options: Options, most: int) -> tuple[int | None, int, ActiveSubclustering, float]:
    """Return the questions to SJC .95 (None: not reached), those in all, the sampler, and CPU seconds for a question."""
    sampler = ActiveSubclustering(draw_candidates(x, options), options)
    oracle, asked, reached = LabelOracle(y), 0, None
    began = time.process_time()
    while asked < most and (questions := sampler.ask(1)):
        sampler.tell([Answer(q.id, q.u, q.v, oracle.answer(q)) for q in questions])
        asked += 1
        if reached is None and asked % STEP == 0 and subcluster_scores(y, sampler.result().members).sjc >= GOAL:
            reached = asked
    return reached, asked, sampler, (time.process_time() - began) / max(asked, 1)


def grouped(method: str, x: Vectors, y: Labels, clusters: int, size: int, budget: int, seed: int) -> SubclusterScores:
    """What a grouping sampler makes of so many questions, cut down to n images of each of its K largest clusters."""
    near = neighbors_in_memory(x, min(50, len(x) - 1))
    told = clusters if "clusters" in grouping_method(method).needs else None
    sampler = make_grouper(method, GroupingInputs(x, near.index, near.similarity, seed, told))
    oracle, constraints, asked = LabelOracle(y), Constraints(), 0
    while asked < budget and (questions := sampler.ask(min(16, budget - asked))):
        replies = answer_batch(questions, constraints, oracle)
        sampler.tell([Answer(r.question.id, r.question.u, r.question.v, r.value) for r in replies])
        asked += sum(not reply.inferred for reply in replies)
    return subcluster_scores(y, from_labels(x, sampler.result().labels, clusters, size))


def explored(x: Vectors, y: Labels, clusters: int, size: int, budget: int, seed: int) -> SubclusterScores:
    """Explore and Consolidate, then PCK-means."""
    chooser, oracle = ExplorePairs(x, seed, clusters=clusters), LabelOracle(y)
    pairs: list[tuple[int, int]] = []
    values: list[float | None] = []
    while len(pairs) < budget and (pair := chooser.next()) is not None:
        values.append(oracle.answer(Question(len(pairs), *pair)))
        chooser.told(len(pairs), values[-1])
        pairs.append(pair)
    links, same = np.array(pairs).reshape(-1, 2), np.array(values) == 1.0
    labels = pckmeans(x, clusters, links[same], links[~same], seed=seed).labels
    return subcluster_scores(y, from_labels(x, labels, clusters, size))


def curves(chosen: argparse.Namespace) -> None:
    head("set", "K", "n", "method", "questions", "SJC", "coverage", "purity", "CPU of a question")
    for name in chosen.sets:
        data = read(chosen.data, name)
        if data is None:
            continue
        x, y = data
        _, _, size, most = SETS[name]
        clusters = len(np.unique(y))
        needed = []
        for seed in range(chosen.seeds):
            reached, asked, sampler, spent = until_goal(x, y, Options(clusters, size, seed=seed), most)
            end = cells_of(subcluster_scores(y, sampler.result().members))
            needed.append(reached or asked)
            first = f"{reached:,} to .95" if reached else ".95 not reached"
            left = ", nothing left to ask" if sampler.done else ""
            row(name, clusters, size, f"active, seed {seed}", f"{first}; {asked:,}{left}", *end, f"{1000 * spent:.1f} ms")
        budget = int(np.mean(needed))
        found, items = restricted_pam(x, clusters)
        row(name, clusters, size, "Fast-PAM", 0, *cells_of(subcluster_scores(y, from_medoids(x, found, items, size))), "")
        scores = explored(x, y, clusters, size, budget, 0)
        row(name, clusters, size, "Explore-Consolidate + PCK-means", f"{budget:,}", *cells_of(scores), "")
        for method in chosen.methods:
            if method not in grouping_methods():
                print(f"{method} is left out: this version has no such grouping method", file=sys.stderr)
                continue
            scores = grouped(method, x, y, clusters, size, budget, 0)
            row(name, clusters, size, f"{method} + nearest members", f"{budget:,}", *cells_of(scores), "")


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "passive": passive,
    "active": active,
    "pam": pam,
    "baselines": baselines,
    "curves": curves,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--methods", nargs="+", default=["apc", "evidence"], help="grouping methods to compare with")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--questions", type=int, default=5000, help="of the part `active`")
    chosen = parser.parse_args()
    for part in chosen.parts:
        print(f"\n## {part}\n")
        PARTS[part](chosen)


if __name__ == "__main__":
    main()
