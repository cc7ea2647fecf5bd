"""Grouping from few answers, K not told: NMI and ARI after a budget of questions, on real and made collections.

    python -m benchmarks.grouping --data FOLDER --sets market20 digits --seeds 5 --noise 0 0.05

Prints a markdown table; a set whose file is not in the folder is left out, and said so. A seed is another order of the items and
another draw of the wrong answers. `best` is the best ARI at any moment of the run, `start` the ARI before the first question.
Questions are asked one at a time (`--batch` for more); milliseconds are CPU time of one process for each question, neighbours and
the first pass apart.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from cccount_dist.clustering.methods import METHODS, GroupingInputs, make_grouper, resolve_method
from cccount_dist.clustering.views import join_views
from cccount_dist.metrics import ari, nmi
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import answer_batch
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare

Data = tuple[NDArray[np.float32], NDArray[np.int64]]


@dataclass(frozen=True)
class Scores:
    """What one run gave."""

    start: float
    nmi: float
    ari: float
    best: float
    clusters: int
    count: float  # what the method says as a count
    classes: int
    first_seconds: float
    milliseconds: float
    asked: int


def from_files(*names: str, items: int | None = None, classes: int | None = None) -> Callable[[Path], Data]:
    def load(folder: Path) -> Data:
        files = [np.load(folder / f"{name}.npz") for name in names]
        y = files[0]["y"][:items].astype(np.int64)
        chosen = slice(None) if classes is None else y < classes
        return join_views([file["x"][:items][chosen] for file in files]), y[chosen]

    return load


def digits(_: Path) -> Data:
    x, y = load_digits(return_X_y=True)
    return x.astype(np.float32), y.astype(np.int64)


def modes(items: int) -> Callable[[Path], Data]:
    """About 68 items a class, in three modes, 128 dimensions: what a network makes of classes that look different by pose."""

    def make(_: Path) -> Data:
        random = np.random.default_rng(0)
        classes = round(items * 146 / 10_000)
        weights = random.lognormal(0, 0.5, classes)
        y = random.choice(classes, items, p=weights / weights.sum())
        unit = _unit(random.normal(size=(classes, 128)))
        centres = _unit(unit[:, None] + _unit(random.normal(size=(classes, 3, 128))))
        x = centres[y, random.integers(3, size=items)] + random.normal(size=(items, 128)) / np.sqrt(128)
        return x.astype(np.float32), y

    return make


def _unit(x: NDArray[np.float64]) -> NDArray[np.float64]:
    rows: NDArray[np.float64] = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return rows


SETS: dict[str, tuple[Callable[[Path], Data], int]] = {
    "market20": (from_files("market20"), 60),
    "handwritten": (from_files(*(f"handwritten_view{view}" for view in range(6))), 100),
    "digits": (digits, 150),
    "modes-10k": (modes(10_000), 300),
    "chimp-czoo": (from_files("chimp_czoo_mobilenetv2"), 200),
    "omniglot-250": (from_files("omniglot_hog", classes=250), 300),  # the 5,000 items of the first 250 characters
    "omniglot-5k": (from_files("omniglot_hog", items=5000), 300),  # the first 5,000 rows: three items a character
    "modes-100k": (modes(100_000), 4000),
}
USUAL = [name for name in SETS if name != "modes-100k"]


def loaded(name: str, folder: Path) -> Data | None:
    """Return a set; None, and a word about it, if its file is not there."""
    try:
        return SETS[name][0](folder)
    except FileNotFoundError as error:
        print(f"{name} is left out: {error.filename} is not there", file=sys.stderr)
        return None


def run(data: Data, method: str, budget: int, wrong: float, seed: int, batch: int) -> Scores:
    order = np.random.default_rng(seed).permutation(len(data[1]))
    x, y = prepare(data[0][order], "cosine"), data[1][order]
    found = neighbors_in_memory(x, min(50, len(x) - 1))
    began = time.process_time()
    sampler = make_grouper(method, GroupingInputs(x, found.index, found.similarity, seed))
    first_seconds = time.process_time() - began
    oracle, constraints = LabelOracle(y, error_rate=wrong, seed=seed), Constraints()
    trace = [ari(y, sampler.result().labels)]
    asked, spent, looks = 0, 0.0, max(1, budget // 400)  # scoring every question of a long run would take longer than the run
    while asked < budget:
        began = time.process_time()
        questions = sampler.ask(min(batch, budget - asked))
        if not questions:
            break
        replies = answer_batch(questions, constraints, oracle)
        sampler.tell([Answer(r.question.id, r.question.u, r.question.v, r.value) for r in replies])
        sampler.done  # noqa: B018  the next partition is part of what a question costs
        spent += time.process_time() - began
        before, asked = asked, asked + sum(not reply.inferred for reply in replies)
        if asked // looks > before // looks:
            trace.append(ari(y, sampler.result().labels))
    result = sampler.result()
    labels, count = result.labels, result.expected_classes
    last = ari(y, labels)
    return Scores(
        trace[0], nmi(y, labels), last, max(*trace, last), int(labels.max()) + 1, result.clusters if count is None else count,
        len(np.unique(y)),
        first_seconds, 1000 * spent / max(asked, 1), asked,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=USUAL)
    parser.add_argument("--methods", nargs="+", choices=["auto", *METHODS], default=["auto"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.05])
    parser.add_argument("--batch", type=int, default=1)
    chosen = parser.parse_args()
    heads = ["set", "items", "classes", "method", "wrong", "questions", "start", "NMI", "ARI", "best", "clusters", "count"]
    heads += ["first pass", "a question"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in chosen.sets:
        budget = SETS[name][1]
        if (data := loaded(name, chosen.data)) is None:
            continue
        for method in dict.fromkeys(map(resolve_method, chosen.methods)):
            for wrong in chosen.noise:
                runs = [run(data, method, budget, wrong, seed, chosen.batch) for seed in range(chosen.seeds)]
                print(row(name, len(data[1]), method, wrong, runs), flush=True)


def row(name: str, items: int, method: str, wrong: float, runs: list[Scores]) -> str:
    def mean(field: str) -> float:
        return float(np.mean([getattr(one, field) for one in runs]))

    spread = float(np.std([one.ari for one in runs]))
    cells = [
        name, f"{items:,}", str(runs[0].classes), method, f"{wrong:.0%}", f"{mean('asked'):.0f}", f"{mean('start'):.3f}",
        f"{mean('nmi'):.3f}", f"{mean('ari'):.3f} ± {spread:.3f}", f"{mean('best'):.3f}", f"{mean('clusters'):.0f}",
        f"{mean('count'):.0f}",
        f"{mean('first_seconds'):.1f} s", f"{mean('milliseconds'):.0f} ms",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
