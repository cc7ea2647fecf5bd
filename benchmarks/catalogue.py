"""Grouping by sheets, K not told: ARI over a person's time, with right and wrong answers, and whether the intervals hold.

    python -m benchmarks.catalogue --data FOLDER --sets chimp-czoo market20 --seeds 5
    … --errors 0.04,0.01 0.04,0.01,again    cells missed, cells falsely marked; `again`: the same pair is wrong every time
    … --coverage 100            runs for a second table: how often the intervals hold the truth after `--looks` hours
    … --ahead 24                sheets that lie ready: each is answered when so many others are open
    … --large                   100,000 items of 1,500 classes: time of a glance, of the first pass, and memory
    … --quick                   market20, one seed
    … --write NAME              put the table into docs/evidence/catalogue.md; with `--coverage` the second one

Prints markdown tables; a set whose file is not in the folder is left out, and said so. A person takes 30 s for a sheet; by the
second model 6 s, 0.8 s a cell and 0.7 s a mark. Hours include random pages. A seed is another draw of sheets and wrong answers.
`right`: the item's group is the largest one of the class that most items of the group have.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import npz
from benchmarks.groupingsets import SETS, Data, from_files
from benchmarks.pasting import paste
from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.methods import GroupingInputs, make_grouper
from cccount_dist.clustering.quality import Bounds
from cccount_dist.clustering.result import Grouping
from cccount_dist.sampling.types import Answer, Question, Sampler
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare

PAGE = Path("docs/evidence/catalogue.md")
SHEET = 30.0  # seconds
EACH, CELL, CLICK = 6.0, 0.8, 0.7  # the second model
HOURS = (0.5, 1.0, 2.0)
REACHED = (0.8, 0.9, 0.98)
LOOK = 5  # glances between two looks at the labels

Labels = NDArray[np.int64]


# -- collections -------------------------------------------------------------------------------------------------------------


def made(sizes: Sequence[int], seed: int, noise: float = 1.2) -> Callable[[Path], Data]:
    """Classes of these sizes around random centres in 64 dimensions: with 16 a class and noise 1.2 the 5-NN score is .98."""

    def make(_: Path) -> Data:
        random = np.random.default_rng(seed)
        y = np.repeat(np.arange(len(sizes)), sizes)
        x = random.normal(size=(len(sizes), 64))[y] + noise * random.normal(size=(len(y), 64))
        order = random.permutation(len(y))
        return x[order].astype(np.float32), y[order].astype(np.int64)

    return make


def omniglot(folder: Path) -> Data:
    """240 characters, 8 drawings each."""
    file = np.load(npz(folder, "omniglot_hog"))
    random = np.random.default_rng(5)
    chosen = random.choice(1623, 240, replace=False)
    items = random.permutation(np.concatenate([np.flatnonzero(file["y"] == one)[:8] for one in chosen]))
    return file["x"][items], np.unique(file["y"][items], return_inverse=True)[1].astype(np.int64)


CENSUS = [*(max(2, round(353 * rank**-0.75)) for rank in range(1, 73)), 1, 1, 1, 1, 1]  # 77 classes of 1 to 353
COLLECTIONS: dict[str, tuple[Callable[[Path], Data], float]] = {  # with the hours that a run may take
    "chimp-czoo": (SETS["chimp-czoo"][0], 6.0),
    "market20": (SETS["market20"][0], 2.0),
    "digits": (SETS["digits"][0], 3.0),
    "handwritten": (SETS["handwritten"][0], 3.0),
    "handwritten-0": (from_files("handwritten_view0"), 3.0),
    "omniglot-240x8": (omniglot, 7.0),
    "strong-100x16": (made([16] * 100, 0), 4.0),
    "census-77": (made(CENSUS, 1), 4.0),
    "weak-25x16": (made([16] * 25, 2, noise=1.9), 1.5),
}
USUAL = ["chimp-czoo", "market20", "digits", "handwritten", "omniglot-240x8", "strong-100x16", "census-77"]


# -- who answers -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Errors:
    """Shares of cells that are missed, and falsely marked; `again`: the same pair is wrong whenever it is shown."""

    miss: float = 0.0
    false: float = 0.0
    again: bool = False

    @classmethod
    def read(cls, text: str) -> "Errors":
        miss, false, *again = text.split(",")
        return cls(float(miss), float(false), bool(again))

    def __str__(self) -> str:
        return "none" if not self.miss else f"{self.miss:.1%} / {self.false:.1%}{', again' if self.again else ''}"


def said(question: Question, labels: Labels, errors: Errors, seed: int) -> float:
    """What a person says of a cell: wrong by chance, the same chance for the same cell in every run."""
    same = bool(labels[question.u] == labels[question.v])
    key = sorted((question.u, question.v)) if errors.again else [question.id, 1 << 40]
    luck = np.random.default_rng([seed, *key]).random() if errors.miss or errors.false else 1.0
    return float(luck >= errors.miss) if same else float(luck < errors.false)


# -- one run -----------------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """ARI over the glances, and what the intervals said."""

    curve: list[tuple[int, float, float]] = field(default_factory=list)  # glances, seconds by the second model, ARI
    held: dict[tuple[float, str], tuple[bool, float]] = field(default_factory=dict)  # hours, measure: held, width
    glances: int = 0
    seconds: float = 0.0
    groups: int = 0
    ended: bool = False

    def at(self, hours: float) -> float:
        """ARI after so many hours, or at the end before them."""
        return [value for glances, _, value in self.curve if glances <= hours * 3600 / SHEET][-1]

    def to(self, score: float, *, second: bool = False) -> float:
        """Hours until this ARI was reached; infinite if it never was."""
        found = ((seconds if second else glances * SHEET) / 3600 for glances, seconds, value in self.curve if value >= score)
        return next(found, float("inf"))


def run(
    data: Data, seed: int, errors: Errors, hours: float, ahead: int = 1, looks: Sequence[float] = (), until: float = 2.0
) -> Run:
    """Answer sheets for so many hours, or until this ARI is seen."""
    vectors, labels = prepare(data[0], "cosine"), data[1]
    found = neighbors_in_memory(vectors, min(50, len(vectors) - 1))
    inputs = GroupingInputs(vectors, found.index, found.similarity, seed, None, {"open": max(16, ahead)})
    sampler: Sampler[Grouping] = make_grouper("catalogue", inputs)
    out, waiting, second = Run(), list[list[Question]](), 0.0
    due = sorted(looks)
    while out.glances < hours * 3600 / SHEET:
        waiting += pages(sampler.ask(ahead - len(waiting)))
        if not waiting:
            out.ended = True
            break
        sheet = waiting.pop(0)
        answers = [Answer(q.id, q.u, q.v, said(q, labels, errors, seed)) for q in sheet]
        sampler.tell(answers)
        out.glances += 1
        second += EACH + CELL * len(answers) + CLICK * sum(answer.value or 0.0 for answer in answers)
        if out.glances % LOOK == 0:
            out.curve.append((out.glances, second, ari(labels, sampler.result().labels)))
            if out.curve[-1][2] >= until:
                break
        if due and out.glances >= due[0] * 3600 / SHEET:
            judge(sampler.result(), labels, due.pop(0), out)
    result = sampler.result()
    for hour in due:
        judge(result, labels, hour, out)
    out.curve.append((out.glances, second, ari(labels, result.labels)))
    out.groups, out.seconds = result.clusters, second
    return out


def pages(questions: Sequence[Question]) -> Iterator[list[Question]]:
    for page in sorted({question.page for question in questions if question.page is not None}):
        yield [question for question in questions if question.page == page]


def judge(result: Grouping, labels: Labels, hour: float, out: Run) -> None:
    """Note whether each interval holds the truth."""
    right, precision, recall = truths(result.labels, labels)
    quality = result.quality
    if quality is None:
        return
    found: list[tuple[str, Bounds | None, float]] = [
        ("right", quality.right, right),
        ("precision", quality.precision, precision),
        ("recall", quality.recall, recall),
        ("groups", result.count, float(len(np.unique(labels)))),
    ]
    for name, bounds, truth in found:
        if bounds is not None:
            scale = truth if name == "groups" else 1.0
            out.held[hour, name] = bounds.low - 1e-9 <= truth <= bounds.high + 1e-9, (bounds.high - bounds.low) / scale


def truths(found: Labels, labels: Labels) -> tuple[float, float, float]:
    """Share of the items in the right group, precision and recall of pairs."""
    table = np.zeros((int(found.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (found, labels), 1)
    main = table.argmax(axis=1)
    best = {int(c): int(np.where(main == c, table.sum(axis=1), -1).argmax()) for c in np.unique(main)}
    right = sum(table[group, c] for c, group in best.items()) / len(labels)
    together = float((table * (table - 1)).sum())
    sizes, classes = table.sum(axis=1), table.sum(axis=0)
    pairs, same = float((sizes * (sizes - 1)).sum()), float((classes * (classes - 1)).sum())
    return right, together / pairs if pairs else 1.0, together / same if same else 1.0


# -- 100,000 items -----------------------------------------------------------------------------------------------------------


def large(glances: int) -> list[str]:
    """Time of a glance with half of the items placed, of the first pass, and peak memory."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(1500, 128)).astype(np.float32)
    labels = random.integers(1500, size=100_000)
    vectors = prepare(centres[labels] + random.normal(size=(100_000, 128)).astype(np.float32), "cosine")
    found = neighbors_in_memory(vectors, 50)
    began = time.process_time()
    sampler = make_grouper("catalogue", GroupingInputs(vectors, found.index, found.similarity, 0))
    first = time.process_time() - began
    spent = []
    for _ in range(glances):
        began = time.process_time()
        questions = sampler.ask(1)
        sampler.tell([Answer(q.id, q.u, q.v, float(labels[q.u] == labels[q.v])) for q in questions])
        sampler.done  # noqa: B018  the next state is part of what a glance costs
        spent.append(time.process_time() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    score = ari(labels, sampler.result().labels)
    row = [f"{glances:,}", f"{np.mean(spent):.3f} s", f"{np.median(spent):.3f} s", f"{max(spent):.1f} s", f"{first:.1f} s"]
    return [*head(["glances", "a glance", "median", "longest", "first pass", "peak memory", "ARI"]),
            cells(*row, f"{peak:.2f} GiB", f"{score:.3f}")]  # fmt: skip


# -- tables ------------------------------------------------------------------------------------------------------------------


def cells(*texts: str) -> str:
    return f"| {' | '.join(texts)} |"


def head(names: Sequence[str]) -> list[str]:
    return [cells(*names), "|" + "---|" * len(names)]


def hours_text(values: Sequence[float]) -> str:
    reached = [value for value in values if np.isfinite(value)]
    if not reached:
        return "never"
    return f"{np.mean(reached):.2f}" + (f" ({len(reached)} of {len(values)})" if len(reached) < len(values) else "")


def curve_row(name: str, errors: Errors, runs: Sequence[Run], classes: int) -> str:
    at = [f"{np.mean([one.at(hour) for one in runs]):.3f}" for hour in HOURS]
    to = [hours_text([one.to(score) for one in runs]) for score in REACHED]
    exact = hours_text([one.to(0.99999) for one in runs])
    second = hours_text([one.to(0.98, second=True) for one in runs])
    end = hours_text([one.glances * SHEET / 3600 if one.ended else float("inf") for one in runs])
    groups = sorted(one.groups for one in runs)
    known = f"{groups[0]}" if groups[0] == groups[-1] else f"{groups[0]} to {groups[-1]}"
    last = f"{np.mean([one.curve[-1][2] for one in runs]):.4f}"
    return cells(name, str(errors), *at, *to, exact, second, end, last, f"{known} ({classes})")


def coverage_rows(name: str, errors: Errors, runs: Sequence[Run]) -> list[str]:
    rows = []
    for hour in sorted({hour for one in runs for hour, _ in one.held}):
        texts = []
        for measure in ("right", "precision", "recall", "groups"):
            held = [one.held[hour, measure] for one in runs if (hour, measure) in one.held]
            texts.append(f"{np.mean([h for h, _ in held]):.2f} ({np.mean([w for _, w in held]):.2f})" if held else "")
        rows.append(cells(name, str(errors), f"{hour:g}", str(len(runs)), *texts))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="+", choices=list(COLLECTIONS), default=USUAL)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--errors", nargs="+", type=Errors.read, default=[Errors()])
    parser.add_argument("--hours", type=float, default=None, help="of each run; by default as much as the set needs")
    parser.add_argument("--ahead", type=int, default=1)
    parser.add_argument("--coverage", type=int, default=0, metavar="RUNS")
    parser.add_argument("--looks", nargs="+", type=float, default=[1.0, 2.0, 3.0], help="hours after which intervals are judged")
    parser.add_argument("--large", type=int, default=0, metavar="GLANCES")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", metavar="NAME")
    chosen = parser.parse_args()
    if chosen.large:
        print("\n".join(lines := large(chosen.large)))
        if chosen.write:
            paste(PAGE, chosen.write, lines)
        return
    if chosen.quick:
        chosen.sets, chosen.seeds = ["market20"], 1
    title = ["set", "wrong", *(f"ARI at {hour:g} h" for hour in HOURS), *(f"{score:g} at" for score in REACHED), "exact at",
             "0.98 at, second model", "ends at", "ARI then", "groups"]  # fmt: skip
    lines, covered = head(title), head(["set", "wrong", "hours", "runs", "right", "precision", "recall", "groups"])
    print("\n".join(lines), flush=True)
    for name in chosen.sets:
        make, usual = COLLECTIONS[name]
        try:
            data = make(chosen.data)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        for errors in chosen.errors:
            hours = chosen.hours or usual
            looks = chosen.looks if chosen.coverage else ()
            runs = [run(data, seed, errors, hours, chosen.ahead, looks) for seed in range(chosen.coverage or chosen.seeds)]
            lines.append(curve_row(name, errors, runs, len(np.unique(data[1]))))
            covered += coverage_rows(name, errors, runs)
            print("\n".join([lines[-1], *coverage_rows(name, errors, runs)]), flush=True)
    if chosen.write:
        paste(PAGE, chosen.write, covered if chosen.coverage else lines)


if __name__ == "__main__":
    main()
