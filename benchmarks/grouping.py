"""Grouping from few answers, K not told: NMI and ARI after a budget of questions, on real and made collections.

    python -m benchmarks.grouping --data FOLDER --sets market20 digits --seeds 5 --noise 0 0.05
    … --stop 0.9 0.95           a second table: where `stop` would end the runs of evidence, and how good they are then
    … --steady 20 30            columns of that table: where `steady` would
    … --ablation                variants of APC instead
    … --learn-up-to 0           as if every set had more items than those up to which `evidence` learns its space anew
    … --write NAME              put the table into docs/evidence/grouping.md (NAME-stop: the second one)

Prints a markdown table; a set whose file is not in the folder is left out, and said so. A seed is another order of the items and
another draw of the wrong answers. `start` is the ARI before the first question, `lowest` and `best` the lowest and best ARI at
any moment after it, `dip` the largest fall below the best so far. Questions are asked one at a time (`--batch` for more);
milliseconds are CPU time of one process for each question, neighbours and the first pass apart.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.groupingsets import SETS, USUAL, Data, loaded
from benchmarks.pasting import paste
from cccount_dist.clustering.agreement import ari, nmi
from cccount_dist.clustering.evidence import evidence_sampler, micro
from cccount_dist.clustering.methods import GroupingInputs, grouping_method, grouping_methods, make_grouper
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import answer_batch
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.sampling.types import Answer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare

PAGE = Path("docs/evidence/grouping.md")
Parameters = Mapping[str, str | int | float | bool]
ABLATION: dict[str, Parameters] = {
    "both, the default": {},
    "`refit=false`": {"refit": False},
    "`attach=0`": {"attach": 0.0},
    "`refit=false`, `attach=0`: the paper's way": {"refit": False, "attach": 0.0},
    "the paper's way with P× (`probability=times`)": {"refit": False, "attach": 0.0, "probability": "times"},
    "the paper's way with P (`probability=all`)": {"refit": False, "attach": 0.0, "probability": "all"},
    "the paper's way with P_c (`probability=centre`)": {"refit": False, "attach": 0.0, "probability": "centre"},
    "the paper's way with `recall=top`": {"refit": False, "attach": 0.0, "recall": "top"},
    "the paper's way without the purity test (`compactness=0`)": {"refit": False, "attach": 0.0, "compactness": 0.0},
}


@dataclass(frozen=True)
class Scores:
    """What one run gave."""

    start: float
    nmi: float
    ari: float
    lowest: float
    best: float
    dip: float
    clusters: int
    count: float  # what the method says as a count
    classes: int
    first_seconds: float
    milliseconds: float
    asked: int
    course: list[tuple[int, float, float, int]]  # answers, ARI, expected F, last answers that changed nothing


def run(
    data: Data, method: str, budget: int, wrong: float, seed: int, batch: int, parameters: Parameters | None = None
) -> Scores:
    order = np.random.default_rng(seed).permutation(len(data[1]))
    x, y = prepare(data[0][order], "cosine"), data[1][order]
    found = neighbors_in_memory(x, min(50, len(x) - 1))
    began = time.process_time()
    sampler = make_grouper(method, GroupingInputs(x, found.index, found.similarity, seed, parameters=parameters or {}))
    first_seconds = time.process_time() - began
    oracle, constraints = LabelOracle(y, error_rate=wrong, seed=seed), Constraints()
    start = ari(y, sampler.result().labels)
    course = []
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
            result = sampler.result()
            course.append((asked, ari(y, result.labels), result.expected_quality or 0.0, result.steady_answers or 0))
    result = sampler.result()
    labels, count = result.labels, result.expected_classes
    last = ari(y, labels)
    seen = np.array([rand for _, rand, _, _ in course] + [last])
    dip = float((np.maximum.accumulate(np.r_[start, seen])[1:] - seen).max())
    return Scores(
        start, nmi(y, labels), last, float(seen.min()), float(seen.max()), dip, int(labels.max()) + 1,
        result.clusters if count is None else count,
        len(np.unique(y)), first_seconds, 1000 * spent / max(asked, 1), asked, course,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=USUAL)
    parser.add_argument("--methods", nargs="+", choices=["auto", *grouping_methods()], default=["auto"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.05])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--stop", nargs="+", type=float, default=[], metavar="F", help="expected F scores to stop at")
    parser.add_argument(
        "--steady", nargs="+", type=int, default=[], metavar="N", help="answers that change nothing, to stop after"
    )
    parser.add_argument("--budget", type=int, help="questions, instead of the usual number of each set")
    parser.add_argument("--ablation", action="store_true", help="variants of apc")
    parser.add_argument("--learn-up-to", type=int, help="items up to which evidence learns its space anew")
    parser.add_argument("--write", metavar="NAME", help=f"put the table into {PAGE}, between the marks of this name")
    chosen = parser.parse_args()
    if chosen.learn_up_to is not None:
        micro.LEARN_UP_TO = evidence_sampler.LEARN_UP_TO = chosen.learn_up_to  # type: ignore[attr-defined]
    for name, lines in ablated(chosen) if chosen.ablation else scored(chosen):
        print("\n".join(lines if len(lines) == 3 else lines[-1:]), flush=True)
        if chosen.write:
            paste(PAGE, f"{chosen.write}{name}", lines)  # after every row: a run that is cut short counts for what it did


def scored(chosen: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield after every row which table has a new one, and all of it."""
    lines = head([
        "set", "items", "classes", "method", "wrong", "questions", "start", "lowest", "dip", "NMI", "ARI", "best", "clusters",
        "count", "first pass", "a question",
    ])  # fmt: skip
    rules = [*(f"F = {level:g}" for level in chosen.stop), *(f"steady {answers}" for answers in chosen.steady)]
    ends = head(["set", "wrong", *rules, "end"]) if rules else []
    for name, data in the_sets(chosen):
        for method in dict.fromkeys(grouping_method(name).name for name in chosen.methods):
            for wrong in chosen.noise:
                budget = chosen.budget or SETS[name][1]
                runs = [run(data, method, budget, wrong, seed, chosen.batch) for seed in range(chosen.seeds)]
                lines.append(row(name, len(data[1]), method, wrong, runs))
                yield "", lines
                if ends and method == "evidence":
                    ends.append(stopped(name, wrong, runs, chosen.stop, chosen.steady))
                    yield "-stop", ends


def row(name: str, items: int, method: str, wrong: float, runs: list[Scores]) -> str:
    spread = float(np.std([one.ari for one in runs]))
    return cells(
        name, f"{items:,}", str(runs[0].classes), method, f"{wrong:.0%}", f"{mean(runs, 'asked'):.0f}",
        f"{mean(runs, 'start'):.3f}", f"{mean(runs, 'lowest'):.3f}", f"{mean(runs, 'dip'):.3f}", f"{mean(runs, 'nmi'):.3f}",
        f"{mean(runs, 'ari'):.3f} ± {spread:.3f}", f"{mean(runs, 'best'):.3f}", f"{mean(runs, 'clusters'):.0f}",
        f"{mean(runs, 'count'):.0f}", f"{mean(runs, 'first_seconds'):.1f} s", f"{mean(runs, 'milliseconds'):.0f} ms",
    )  # fmt: skip


def stopped(name: str, wrong: float, runs: list[Scores], levels: list[float], steady: list[int]) -> str:
    """ARI when each rule would have stopped (none does before 20 answers), questions in brackets; runs in which it did."""
    said = []
    rules = [(2, level) for level in levels] + [(3, float(answers)) for answers in steady]
    for column, least in rules:
        at = [next(((look[0], look[1]) for look in one.course if look[column] >= least and look[0] >= 20), None) for one in runs]
        there = [one for one in at if one is not None]
        text = f"{np.mean([rand for _, rand in there]):.3f} ({np.mean([n for n, _ in there]):.0f})" if there else "never"
        said.append(text if len(there) in (0, len(runs)) else f"{text}, {len(there)} of {len(runs)}")
    return cells(name, f"{wrong:.0%}", *said, f"{mean(runs, 'ari'):.3f} ({mean(runs, 'asked'):.0f})")


def ablated(chosen: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    found = dict(the_sets(chosen))
    lines = head(["", *found])
    for title, parameters in ABLATION.items():
        said = []
        for name, data in found.items():
            budget = chosen.budget or SETS[name][1]
            runs = [run(data, "apc", budget, 0.0, seed, chosen.batch, parameters) for seed in range(chosen.seeds)]
            said.append(f"{mean(runs, 'nmi'):.3f} / {mean(runs, 'ari'):.3f}")
        lines.append(cells(title, *said))
        yield "", lines


def the_sets(chosen: argparse.Namespace) -> Iterator[tuple[str, Data]]:
    for name in chosen.sets:
        if (data := loaded(name, chosen.data)) is not None:
            yield name, data


def mean(runs: list[Scores], field: str) -> float:
    return float(np.mean([getattr(one, field) for one in runs]))


def head(names: list[str]) -> list[str]:
    return [cells(*names), f"|{'---|' * len(names)}"]


def cells(*texts: str) -> str:
    return f"| {' | '.join(texts)} |"


if __name__ == "__main__":
    main()
