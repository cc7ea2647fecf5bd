"""Active-HACC: JCC over questions on stand-ins (figure 4), calibration of P (figure 3), iris, and what the heuristics lose."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

from benchmarks.hacc import State
from benchmarks.papers.experiment import Case, Done, Dots, Experiment, Panel, Row, Value, by, curves_of, means, values_of
from cccount_dist.clustering.agreement import jcc, rwcp
from cccount_dist.clustering.baselines.random_constraints import RandomConstraints
from cccount_dist.clustering.hacc.beliefs import many_runs
from cccount_dist.clustering.hacc.build import knowledge_of
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, make_grouper
from cccount_dist.clustering.result import Grouping
from cccount_dist.estimators.baselines import group_baseline
from cccount_dist.sampling.types import Answer, Sampler
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import Metric, prepare
from storage.settings import Scalar

SETS = {"digits-100": "", "att-100": "att_faces_112x92", "czoo-250": "chimp_czoo_mobilenetv2", "iris": ""}
VARIANTS: dict[str, dict[str, Scalar]] = {
    "paper": grouping_method("hacc").preset("paper"),
    "paper-h2": grouping_method("hacc").preset("paper-h2"),
    "default": {},
}
WITHOUT_QUESTIONS = "k-means without questions"
LOOKS = (3, 10, 25, 50, 100, 200, 400)


def data(folder: Path, name: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return vectors and labels: 10 images of 10 classes, or 250 of all."""
    if name == "iris":
        x, y = load_iris(return_X_y=True)
        return ((x - x.min(0)) / np.ptp(x, axis=0)).astype(np.float32), y.astype(np.int64)
    if name == "digits-100":
        x, y = load_digits(return_X_y=True)
        rows = np.concatenate([np.flatnonzero(y == label)[:10] for label in range(10)])
        return x[rows].astype(np.float32), y[rows].astype(np.int64)
    file = np.load(folder / f"{SETS[name]}.npz")
    if name == "att-100":
        pixels = file["images"][:100].reshape(100, -1).astype(np.float32)
        return pixels - pixels.mean(axis=0), file["labels"][:100].astype(np.int64)
    return file["x"][:250].astype(np.float32), np.unique(file["y"][:250], return_inverse=True)[1].astype(np.int64)


def cases(*, full: bool) -> list[dict[str, Value]]:
    variants = (*VARIANTS, "random constraints", "ffqs (Active-PCKMeans)", WITHOUT_QUESTIONS)
    seeds = range(5 if full else 1)
    return [
        {"set": name, "file": SETS[name], "variant": variant, "seed": seed}
        for name in (SETS if full else ("iris", "digits-100")) for variant in variants for seed in seeds
    ]  # fmt: skip


def measure(folder: Path, case: Case) -> Row:
    x, y = data(folder, str(case["set"]))
    variant, seed, classes = str(case["variant"]), int(case["seed"]), len(np.unique(y))
    metric: Metric = "euclidean" if case["set"] == "iris" else "cosine"
    vectors = prepare(x, metric)
    if variant == WITHOUT_QUESTIONS:
        return {"JCC at 0": jcc(y, kmeans(vectors, classes, seed=seed).labels)}
    if variant.startswith("ffqs"):
        row: Row = {}
        for look in LOOKS:
            found = group_baseline("ffqs", x, n_clusters=classes, budget=look, oracle=lambda u, v: bool(y[u] == y[v]),
                                   metric=metric, random_state=seed).labels  # fmt: skip
            row |= {f"JCC at {look}": jcc(y, found), f"RWCP at {look}": rwcp(y, found)}
        return row
    near = neighbors_in_memory(x, min(50, len(x) - 1), metric)
    inputs = GroupingInputs(vectors, near.index, near.similarity, seed, classes, VARIANTS.get(variant, {}))
    random = variant == "random constraints"
    sampler: Sampler[Grouping] = (
        RandomConstraints(knowledge_of(inputs, inputs.present), seed) if random else make_grouper("hacc", inputs)
    )
    return _followed(sampler, y)


def _followed(sampler: Sampler[Grouping], y: NDArray[np.int64]) -> Row:
    row: Row = {"JCC at 0": jcc(y, sampler.result().labels)}
    asked = 0
    for look in LOOKS:
        while asked < look and (questions := sampler.ask(1)):
            asked += len(questions)
            sampler.tell([Answer(q.id, q.u, q.v, float(y[q.u] == y[q.v])) for q in questions])
        labels = sampler.result().labels
        row |= {f"JCC at {look}": jcc(y, labels), f"RWCP at {look}": rwcp(y, labels)}
    return row | {"questions": float(asked)}


def table(done: Done) -> list[str]:
    return means(
        done, ("set", "variant"), ("JCC at 0", *(f"JCC at {look}" for look in LOOKS), "RWCP at 3", "RWCP at 10", "questions")
    )


def panels(done: Done) -> list[Panel | Dots]:
    def points(_: Case, row: Row) -> list[tuple[float, float]]:
        return [(look, row[f"JCC at {look}"]) for look in (0, *LOOKS) if f"JCC at {look}" in row]

    return [
        Panel(name, "questions", "JCC", curves_of(mine, lambda case: str(case["variant"]), points))
        for name, mine in by(done, "set").items()
    ]


def calibration_cases(*, full: bool) -> list[dict[str, Value]]:
    return [
        {"set": name, "file": SETS[name], "bin": tenth}
        for name in (SETS if full else ("digits-100", "iris")) for tenth in range(10)
    ]  # fmt: skip


def measure_calibration(folder: Path, case: Case) -> Row:
    """A bar of figure 3: of the pairs with this P, how many are the same."""
    x, y = data(folder, str(case["set"]))
    runs = many_runs(prepare(x, "euclidean" if case["set"] == "iris" else "cosine"), len(np.unique(y)), 0, 100, finer=False)
    upper = np.triu_indices(len(y), 1)
    p = (runs[:, :, None] == runs[:, None, :]).mean(axis=0)[upper]
    mine = np.minimum((10 * p).astype(int), 9) == int(case["bin"])
    same = (y[:, None] == y)[upper]
    return {
        "pairs": float(mine.sum()),
        **({"P": float(p[mine].mean()), "the same": float(same[mine].mean())} if mine.any() else {}),
    }


def calibration_table(done: Done) -> list[str]:
    return means(done, ("set", "bin"), ("pairs", "P", "the same"))


def calibration_panels(done: Done) -> list[Panel | Dots]:
    return [
        Panel(
            name, "P", "share the same", {"pairs": [(row["P"], row["the same"]) for _, row in mine if "P" in row]}, diagonal=True
        )
        for name, mine in by(done, "set").items()
    ]


def speed_cases(*, full: bool) -> list[dict[str, Value]]:
    sets = ("digits-100", "att-100") if full else ("digits-100",)
    return [
        {"set": name, "file": SETS[name], "answers": answers, "run": run}
        for name in sets for answers in (0, 25, 100) for run in range(8 if full else 2)
    ]  # fmt: skip


def measure_speed(folder: Path, case: Case) -> Row:
    """The next question by trying every pair and by the fast engine, which must find the same one; CPU time of one thread."""
    x, y = data(folder, str(case["set"]))
    state = State(prepare(x, "cosine"), y, int(case["answers"]), seed=int(case["run"]))
    state.fast()  # kernels are compiled before
    fast, found = state.fast()
    slow, wanted = state.brute()
    assert found == wanted
    return {"brute force, ms": 1000 * slow, "fast, ms": 1000 * fast, "times": slow / fast}


def speed_table(done: Done) -> list[str]:
    return means(done, ("set", "answers"), ("brute force, ms", "fast, ms", "times"))


def speed_panels(done: Done) -> list[Panel | Dots]:
    found = values_of(done, lambda case: f"{case['set']}, {case['answers']} answers", "times")
    return [Dots("brute force : fast", "times", found, dict.fromkeys(found, 27.5))]


EXPERIMENTS = (
    Experiment("hacc-curves", "Active-HACC, figure 4, iris, loss of the heuristics", cases, measure, table, panels),
    Experiment(
        "hacc-calibration", "Active-HACC, figure 3", calibration_cases, measure_calibration, calibration_table, calibration_panels
    ),
    Experiment("hacc-speed", "Active-HACC, section 4.1: times faster", speed_cases, measure_speed, speed_table, speed_panels),
)
