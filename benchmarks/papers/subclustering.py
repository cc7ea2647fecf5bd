"""Active subclustering: |R| (figure 8a), n from 5 to 25 beside the baselines (8b-f), more and more classes (figure 7, table 1),
k-medoids by themselves (figure C.10), questions (figure 9).
"""

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.experiment import Case, Done, Dots, Experiment, Panel, Points, Row, Value, by, curves_of, means, point
from cccount_dist import PairwiseClusterer, Subclusterer
from cccount_dist.clustering.agreement import jcc
from cccount_dist.estimators.baselines import group_baseline, subcluster_baseline
from cccount_dist.similarity.metrics import prepare
from cccount_dist.subclustering.baselines import all_distances, from_labels
from cccount_dist.subclustering.byname import BASELINES
from cccount_dist.subclustering.clarans import SEARCHES, alternating, clarans
from cccount_dist.subclustering.fast_pam import restricted_pam
from cccount_dist.subclustering.scores import subcluster_scores

SETS = {"czoo (24 faces)": "chimp_czoo_mobilenetv2", "handwritten": "handwritten_view1", "market20": "market20"}
PEERS = ("ffqs [10]", "hacc [16]", "urasc [17]")
OURS = ("paper", "paper-threshold", "default")
LOOKS = (0, 100, 200, 400, 800)
OMNIGLOT = "omniglot_hog"
MEDOIDS = ("fast-pam", "clarans", "clarans, 4 searches", "k-medoids")


@lru_cache(maxsize=2)
def data(folder: Path, name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    file = np.load(folder / f"{SETS[name]}.npz")
    return file["x"].astype(np.float32), file["y"].astype(np.int64)


def passive_cases(*, full: bool) -> list[dict[str, Value]]:
    sets = list(SETS)[: 3 if full else 1]
    seeds, sizes = range(10 if full else 2), (5, 10, 15, 20, 25)
    found: list[dict[str, Value]] = []
    for name in sets:
        for seed in seeds:
            common: dict[str, Value] = {"set": name, "file": SETS[name], "seed": seed}
            found += [{**common, "method": "paper", "n": 10, "R / K": share} for share in (5, 10, 15, 20, 25, 40)]
            for size in sizes:
                found += [{**common, "method": method, "n": size, "R / K": 25} for method in ("default", *BASELINES)]
                found += [{**common, "method": "paper", "n": size, "R / K": 25}] if size != 10 else []
    return found


def measure_passive(folder: Path, case: Case) -> Row:
    x, y = data(folder, str(case["set"]))
    return _passive(x, y, case)


def _passive(x: NDArray[np.float32], y: NDArray[np.int64], case: Case) -> Row:
    method, size, classes = str(case["method"]), int(case["n"]), len(np.unique(y))
    if method in BASELINES:
        members = subcluster_baseline(method, x, n_clusters=classes, size=size, random_state=int(case["seed"]))
    else:
        restricted = min(int(case["R / K"]) * classes, len(x))
        made = Subclusterer(classes, size=size, budget=0, random_state=int(case["seed"]), parameters={"restricted": restricted})
        members = made.set_params(preset="paper" if method == "paper" else None).fit(x).subclusters_
    scores = subcluster_scores(y, members)
    return {"SJC": scores.sjc, "coverage": scores.coverage, "purity": scores.purity}


def passive_table(done: Done) -> list[str]:
    return means(done, ("set", "n", "method", "R / K"), ("SJC", "coverage", "purity"))


def passive_panels(done: Done) -> list[Panel | Dots]:
    found: list[Panel | Dots] = []
    for name, mine in by(done, "set").items():
        shares = [pair for pair in mine if pair[0]["method"] == "paper" and pair[0]["n"] == 10]
        sizes = [pair for pair in mine if pair[0]["R / K"] == 25]
        found.append(Panel(f"{name}, n = 10 (figure 8a)", "|R| / K", "SJC", _sjc(shares, "R / K")))
        found.append(Panel(f"{name} (figures 8b-f)", "n", "SJC", _sjc(sizes, "n")))
    return found


def _sjc(done: Done, over: str) -> dict[str, Points]:
    return curves_of(done, lambda case: str(case["method"]), point(over, "SJC"))


def class_cases(*, full: bool) -> list[dict[str, Value]]:
    """Face-40 to Face-200 of the paper: 40 to 200 classes of characters, 20 images each."""
    return [
        {"set": "omniglot", "file": OMNIGLOT, "classes": classes, "method": method, "n": 5, "R / K": 25, "seed": seed}
        for classes in ((40, 80, 120, 160, 200) if full else (40,)) for method in ("paper", "default", *BASELINES)
        for seed in range(10 if full else 2)
    ]  # fmt: skip


@lru_cache(maxsize=2)
def characters(folder: Path, classes: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    file = np.load(folder / f"{OMNIGLOT}.npz")
    rows = np.flatnonzero(file["y"] < classes)
    return file["x"][rows].astype(np.float32), file["y"][rows].astype(np.int64)


def measure_classes(folder: Path, case: Case) -> Row:
    return _passive(*characters(folder, int(case["classes"])), case)


def class_table(done: Done) -> list[str]:
    return means(done, ("set", "classes", "n", "method"), ("SJC", "coverage", "purity"))


def class_panels(done: Done) -> list[Panel | Dots]:
    return [Panel("omniglot, n = 5 (figure 7)", "classes", "SJC", _sjc(done, "classes"))]


def medoid_cases(*, full: bool) -> list[dict[str, Value]]:
    return [
        {"set": "omniglot", "file": OMNIGLOT, "classes": classes, "method": method, "seed": seed}
        for classes in ((5, 10, 20, 30, 40, 50) if full else (10, 50)) for method in MEDOIDS for seed in range(20 if full else 3)
    ]  # fmt: skip


def measure_medoids(folder: Path, case: Case) -> Row:
    """Complete clustering, as figure C.10 has it: JCC, and the cost that all three lower."""
    x, y = characters(folder, int(case["classes"]))
    vectors, classes, seed = prepare(x, "cosine"), int(case["classes"]), int(case["seed"])
    method = str(case["method"])
    if method == "fast-pam":
        found = restricted_pam(vectors, classes, seed=seed, eager=False)[0]
    elif method == "k-medoids":
        found = alternating(all_distances(vectors), classes, seed=seed)
    else:
        found = clarans(all_distances(vectors), classes, seed=seed, searches=4 if "4 searches" in method else SEARCHES)
    return {"JCC": jcc(y, found.labels), "cost": found.loss}


def medoid_table(done: Done) -> list[str]:
    return means(done, ("set", "classes", "method"), ("JCC", "cost"))


def medoid_panels(done: Done) -> list[Panel | Dots]:
    return [
        Panel("omniglot", "classes", column, curves_of(done, lambda case: str(case["method"]), point("classes", column)))
        for column in ("JCC", "cost")
    ]


def active_cases(*, full: bool) -> list[dict[str, Value]]:
    sets = list(SETS) if full else ["market20"]
    return [
        {"set": name, "file": SETS[name], "method": method, "questions": look, "seed": seed}
        for name in sets for method in (*OURS, *PEERS) for look in LOOKS for seed in range(3 if full else 1)
    ]  # fmt: skip


def measure_active(folder: Path, case: Case) -> Row:
    x, y = data(folder, str(case["set"]))
    method, look, seed, classes = str(case["method"]), int(case["questions"]), int(case["seed"]), len(np.unique(y))
    size = 5 if case["set"] == "market20" else 10

    def oracle(u: int, v: int) -> bool:
        return bool(y[u] == y[v])

    if method in OURS:
        preset = None if method == "default" else method
        members = (
            Subclusterer(classes, size=size, budget=look, random_state=seed, preset=preset).fit(x, oracle=oracle).subclusters_
        )
    elif method.startswith("hacc"):
        made = PairwiseClusterer(method="hacc", preset="paper-h2", n_clusters=classes, budget=look, random_state=seed)
        members = from_labels(prepare(x, "cosine"), made.fit(x, oracle=oracle).labels_, classes, size)
    else:
        labels = group_baseline(method.split()[0], x, n_clusters=classes, budget=look, oracle=oracle, random_state=seed).labels
        members = from_labels(prepare(x, "cosine"), labels, classes, size)
    return {"SJC": subcluster_scores(y, members).sjc}


def active_table(done: Done) -> list[str]:
    return means(done, ("set", "method", "questions"), ("SJC",))


def active_panels(done: Done) -> list[Panel | Dots]:
    return [Panel(name, "questions", "SJC", _sjc(mine, "questions")) for name, mine in by(done, "set").items()]


EXPERIMENTS = (
    Experiment(
        "subclusters",
        "Active subclustering, figure 8",
        passive_cases,
        measure_passive,
        passive_table,
        passive_panels,
    ),
    Experiment(
        "subclusters-classes", "Active subclustering, figure 7, table 1", class_cases, measure_classes, class_table, class_panels
    ),
    Experiment(
        "subclusters-medoids", "Active subclustering, figure C.10", medoid_cases, measure_medoids, medoid_table, medoid_panels
    ),
    Experiment("subclusters-active", "Active subclustering, figure 9", active_cases, measure_active, active_table, active_panels),
)
