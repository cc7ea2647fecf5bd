"""NIS: sets (tables 1, 2), error, bias, |bias|/σ, coverage over effort (figures 1, 4 to 7, A6), N : M, table 3, figures 8, A5."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.experiment import Case, Done, Dots, Experiment, Panel, Row, Value, by, curves_of, means, values_of
from cccount_dist.clustering.agreement import accuracy
from cccount_dist.clustering.elbow import cluster_grid
from cccount_dist.clustering.kmeans import kmeans
from cccount_dist.clustering.pckmeans import pckmeans
from cccount_dist.counting.baselines.together import counts_without_people, kmeans_accuracy, pckmeans_accuracy
from cccount_dist.counting.labelled import LabelledSet, Source, load
from cccount_dist.counting.methods import counting_method, make_counter
from cccount_dist.counting.trials import FIRST_SEED, Plan, run_trial
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from storage.settings import Scalar

# Stand-ins for CUB, Cars, Aircraft, Flowers, Herbarium and iNaturalist: collections with many classes and with long tails.
SETS = {"digits": "", "czoo": "chimp_czoo_mobilenetv2", "market20": "market20", "handwritten": "handwritten_view1"}
VARIANTS: dict[str, tuple[str, bool, dict[str, Scalar]]] = {
    "nis --preset paper (k-means features)": ("nis", True, {}),
    "nis --preset paper, raw features": ("nis", True, {"similarity": "metric"}),
    "nis (one draw in ten uniform)": ("nis", False, {}),
    "nis, softmax": ("nis", False, {"similarity": "softmax"}),
    "nis-released": ("nis-released", False, {}),
    "nested-mc --preset paper": ("nested-mc", True, {}),
    "pckmeans-random": ("pckmeans-random", False, {}),
    "pckmeans-explore (farthest-first)": ("pckmeans-explore", False, {}),
    "placing (ours)": ("placing", False, {"space": "sharp", "search": "fast"}),
}
ITEMS = {"digits": 1797, "czoo": 2109, "market20": 351, "handwritten": 2000}
ACTIVE = ("pckmeans-random", "pckmeans-explore (farthest-first)")  # these have no interval
NEAREST = 5  # of table 2
EFFORTS = (0.2, 0.5, 1.0, 2.0)
QUICK = ("digits", "market20")
RATIOS = (0.5, 1.0, 3.0, 7.0, 14.0, 28.0)


@lru_cache(maxsize=2)
def collection(folder: Path, name: str) -> LabelledSet:
    file = SETS[name]
    return load(Source(name, str(folder / f"{file}.npz") if file else None))


def plan_of(variant: str, efforts: tuple[float, ...], more: dict[str, Scalar] | None = None) -> Plan:
    method, preset, told = VARIANTS[variant]
    said = {**told, **(more or {})}
    known = counting_method(method)
    return Plan(method, efforts, parameters=(known.preset("paper", said) if preset else {}) | said)


def set_cases(*, full: bool) -> list[dict[str, Value]]:
    return [{"set": name, "file": SETS[name]} for name in (SETS if full else QUICK)]


def measure_set(folder: Path, case: Case) -> Row:
    """Tables 1 and 2 for a stand-in: images, classes, and how often the five nearest images vote for the class of an image."""
    found = collection(folder, str(case["set"]))
    votes = found.labels[neighbors_in_memory(found.vectors, NEAREST).index]
    counts = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    elected = votes[np.arange(len(votes)), counts.argmax(axis=1)]  # of equal votes the nearest image's
    return {
        "images": float(len(votes)), "classes": float(found.clusters),
        f"accuracy of {NEAREST} nearest": float((elected == found.labels).mean()),
    }  # fmt: skip


def set_table(done: Done) -> list[str]:
    return means(done, ("set",), ("images", "classes", f"accuracy of {NEAREST} nearest"))


def set_panels(done: Done) -> list[Panel | Dots]:
    return [Dots("k-NN (table 2)", "accuracy", values_of(done, lambda case: str(case["set"]), f"accuracy of {NEAREST} nearest"))]


def curve_cases(*, full: bool) -> list[dict[str, Value]]:
    return _runs([variant for variant in VARIANTS if variant not in ACTIVE], full=full)


def active_cases(*, full: bool) -> list[dict[str, Value]]:
    return _runs(ACTIVE, full=full)


def _runs(variants: Sequence[str], *, full: bool) -> list[dict[str, Value]]:
    sets = list(SETS) if full else ["market20"]
    runs = 100 if full else 5
    return [
        {"set": name, "file": SETS[name], "variant": variant, "run": run}
        for name in sets for variant in variants for run in range(runs)
    ]  # fmt: skip


def measure_curve(folder: Path, case: Case) -> Row:
    found = collection(folder, str(case["set"]))
    row: Row = {"clusters": float(found.clusters)}
    for one in run_trial(found, plan_of(str(case["variant"]), EFFORTS), int(case["run"])):
        row[f"{one.effort:g}"] = one.estimate
        if case["variant"] not in ACTIVE:
            row[f"{one.effort:g} in"] = float(one.low <= found.clusters <= one.high)
    return row


def curve_table(done: Done) -> list[str]:
    groups: dict[tuple[Value, Value], list[Row]] = {}
    for case, row in done:
        groups.setdefault((case["set"], case["variant"]), []).append(row)
    lines = ["| set | variant | runs | effort / n | error | bias | bias/σ | coverage |", "|---|---|---|---|---|---|---|---|"]
    for (name, variant), rows in groups.items():
        for effort in map("{:g}".format, EFFORTS):
            relative = np.array([row[effort] / row["clusters"] - 1 for row in rows])
            within = [row[f"{effort} in"] for row in rows if f"{effort} in" in row]
            covered = f"{np.mean(within):.2f}" if within else ""
            lines.append(
                f"| {name} | {variant} | {len(rows)} | {effort} | {np.abs(relative).mean():.3f} | {relative.mean():+.3f} | "
                f"{_bias_in_deviations(relative):.2f} | {covered} |"
            )
    return lines


def curve_panels(done: Done) -> list[Panel | Dots]:
    def covers(_: Case, row: Row) -> list[tuple[float, float]]:
        return [(effort, row[f"{effort:g} in"]) for effort in EFFORTS if f"{effort:g} in" in row]

    found: list[Panel | Dots] = []
    for name, mine in by(done, "set").items():
        runs = {variant: [row for _, row in rows] for variant, rows in by(mine, "variant").items()}
        error = {one: _over_effort(rows, lambda all_runs: float(np.abs(all_runs).mean())) for one, rows in runs.items()}
        bias = {one: _over_effort(rows, _bias_in_deviations) for one, rows in runs.items()}
        found.append(Panel(name, "answers / n", "error", error))
        found.append(Panel(name, "answers / n", "|bias| / σ", bias))
        if within := curves_of(mine, lambda case: str(case["variant"]), covers):
            found.append(Panel(name, "answers / n", "coverage of 95 % intervals", within))
    return found


def _over_effort(rows: list[Row], summed: Callable[[NDArray[np.float64]], float]) -> list[tuple[float, float]]:
    return [(effort, summed(np.array([row[f"{effort:g}"] / row["clusters"] - 1 for row in rows]))) for effort in EFFORTS]


def _bias_in_deviations(errors: NDArray[np.float64]) -> float:
    return float(abs(errors.mean()) / errors.std()) if errors.std() > 0 else 0.0


def ratio_cases(*, full: bool) -> list[dict[str, Value]]:
    runs = 100 if full else 5
    return [
        {"set": name, "file": SETS[name], "ratio": ratio, "alpha": alpha, "run": run}
        for name in (SETS if full else ("market20",)) for alpha in (0.5, 0.6) for ratio in RATIOS for run in range(runs)
    ]  # fmt: skip


def measure_ratio(folder: Path, case: Case) -> Row:
    found = collection(folder, str(case["set"]))
    told: dict[str, Scalar] = {"ratio": float(case["ratio"]), "alpha": float(case["alpha"])}
    (one,) = run_trial(found, plan_of("nis --preset paper (k-means features)", (1.0,), told), int(case["run"]))
    return {"error": abs(one.estimate / found.clusters - 1), "anchors": float(one.items)}


def ratio_table(done: Done) -> list[str]:
    return means(done, ("set", "alpha", "ratio"), ("error", "anchors"))


def ratio_panels(done: Done) -> list[Panel | Dots]:
    def points(case: Case, row: Row) -> list[tuple[float, float]]:
        return [(float(case["ratio"]), row["error"])]

    return [
        Panel(name, "M / N", "error at 1 n", curves_of(mine, lambda case: f"α = {case['alpha']}", points), logarithmic=True)
        for name, mine in by(done, "set").items()
    ]


def baseline_cases(*, full: bool) -> list[dict[str, Value]]:
    return [
        {"set": name, "file": SETS[name], "seed": seed} for name in (SETS if full else QUICK) for seed in range(5 if full else 1)
    ]


def measure_baselines(folder: Path, case: Case) -> Row:
    """Table 3, and figure 8: k-means with k of the elbow and of NIS, PCK-means with k and links of NIS and of farthest-first."""
    found, seed = collection(folder, str(case["set"])), int(case["seed"])
    near = neighbors_in_memory(found.vectors, min(50, len(found.labels) - 1))
    row: Row = {}
    counts = dict(counts_without_people(found.vectors, near.index, near.similarity, seed=seed))
    for name, count in counts.items():
        row[f"error, {name}"] = abs(count / found.clusters - 1)
    elbow = float(counts["k-means, elbow"])
    row["accuracy, k-means at the elbow"] = kmeans_accuracy(found.vectors, found.labels, elbow, seed=seed)
    row["accuracy, k-means with the true k"] = kmeans_accuracy(found.vectors, found.labels, found.clusters, seed=seed)
    for name, method in (("NIS", "nis"), ("farthest-first", "pckmeans-explore")):
        sampler = make_counter(
            method, vectors=found.vectors, degree=found.degree, seed=FIRST_SEED + seed,
            parameters=counting_method(method).preset("paper") if method == "nis" else {},
        )  # fmt: skip
        asked: list[tuple[int, int, float]] = []
        while len(asked) < len(found.labels) and (questions := sampler.ask(min(64, len(found.labels) - len(asked)))):
            answers = [Answer(q.id, q.u, q.v, float(found.labels[q.u] == found.labels[q.v])) for q in questions]
            sampler.tell(answers)
            asked += [(q.u, q.v, float(found.labels[q.u] == found.labels[q.v])) for q in questions]
        estimate = sampler.result().estimate or elbow
        row[f"k by {name}, in parts of the true one"] = estimate / found.clusters
        row[f"accuracy, PCK-means with k and links of {name}"] = pckmeans_accuracy(
            found.vectors, found.labels, estimate, asked, seed=seed
        )
        if method == "nis":
            row["accuracy, k-means with k of NIS"] = kmeans_accuracy(found.vectors, found.labels, estimate, seed=seed)
    return row


def baseline_table(done: Done) -> list[str]:
    return means(done, ("set",), list(dict.fromkeys(name for _, row in done for name in row)))


def baseline_panels(done: Done) -> list[Panel | Dots]:
    found: list[Panel | Dots] = []
    for name, mine in by(done, "set").items():
        columns = [one for one in mine[0][1] if one.startswith("accuracy")]
        values = {one.removeprefix("accuracy, "): float(np.mean([row[one] for _, row in mine])) for one in columns}
        found.append(Dots(f"accuracy (equation 12), {name}", "share of items", values))
    return found


def elbow_cases(*, full: bool) -> list[dict[str, Value]]:
    sets = list(SETS) if full else ["market20"]
    return [
        {"set": name, "file": SETS[name], "links": links, "k": k}
        for name in sets for links in (0, 1, 2) for k in cluster_grid(ITEMS[name])
    ]  # fmt: skip


def measure_elbow(folder: Path, case: Case) -> Row:
    """A point of figure A5: the objective of k-means, or of PCK-means with 1 n or 2 n random links."""
    found, k = collection(folder, str(case["set"])), int(case["k"])
    items = len(found.labels)
    if not case["links"]:
        fit = kmeans(found.vectors, k)
        return {"objective": fit.objective, "accuracy": accuracy(found.labels, fit.labels)}
    pairs = np.random.default_rng(0).integers(items, size=(int(case["links"]) * items, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = found.labels[pairs[:, 0]] == found.labels[pairs[:, 1]]
    linked = pckmeans(found.vectors, k, pairs[same], pairs[~same])
    return {"objective": linked.objective, "accuracy": accuracy(found.labels, linked.labels)}


def elbow_table(done: Done) -> list[str]:
    return means(done, ("set", "links", "k"), ("objective", "accuracy"))


def elbow_panels(done: Done) -> list[Panel | Dots]:
    return [
        Panel(name, "k", "objective", curves_of(mine, lambda case: f"{case['links']} n links",
              lambda case, row: [(float(case["k"]), row["objective"])]), logarithmic=True)
        for name, mine in by(done, "set").items()
    ]  # fmt: skip


EXPERIMENTS = (
    Experiment("nis-sets", "NIS, tables 1 and 2", set_cases, measure_set, set_table, set_panels),
    Experiment("nis-curves", "NIS, figures 4 to 7, A1 to A4 and A6", curve_cases, measure_curve, curve_table, curve_panels),
    Experiment(
        "nis-active", "NIS, figures 1, 4 and 6: active clustering", active_cases, measure_curve, curve_table, curve_panels
    ),
    Experiment(
        "nis-ratio", "NIS, section 4: N : M, and N as a power of T", ratio_cases, measure_ratio, ratio_table, ratio_panels
    ),
    Experiment("nis-baselines", "NIS, table 3 and figure 8", baseline_cases, measure_baselines, baseline_table, baseline_panels),
    Experiment("nis-elbow", "NIS, figure A5", elbow_cases, measure_elbow, elbow_table, elbow_panels),
)
