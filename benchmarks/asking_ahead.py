"""What it costs in questions that they lie ready for k people before all answers are in.

    python -m benchmarks.asking_ahead [--people 1 3 10] [--answers 300] [--seeds 5] [--case pairs …]
        [--write docs/evidence/waiting.md]

No server: a sampler, the rule by which the engine keeps questions ready (`campaign/activity.for_the_desk`), and answers in the
order in which the desk hands questions out, always right. What the closure knows by then is free, as in a campaign. The reference
asks one question at a time. For counting the gain is the number of items placed, and the cost how many more answers were given
than the reference needed for the same gain, at the end of the budget: the mean over the seeds (another collection each) and its
standard error. The reference has a cost, too, where its last answers placed nothing. For the others, whose gain levels off, the
table has the gains at the end: how far the groups agree with the truth (ARI), for subclustering the score of the paper.
"""

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pasting import paste
from cccount_dist.campaign.activity import AtTheDesk, for_the_desk
from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.methods import OPEN, GroupingInputs, make_grouper, without_vectors
from cccount_dist.counting.methods import LANES, make_counter
from cccount_dist.counting.placing.placing_sampler import PlacingSampler
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.types import Answer, Question, Sampler, Withdrawing, WithdrawnAnswer
from cccount_dist.similarity.inmemory import neighbors_in_memory
from cccount_dist.similarity.metrics import prepare
from cccount_dist.similarity.rows import degree
from cccount_dist.subclustering.passive import Options, draw_candidates
from cccount_dist.subclustering.scores import subcluster_scores
from cccount_dist.subclustering.subcluster_sampler import ActiveSubclustering
from storage.settings import Scalar

ITEMS, CLASSES, DIMENSIONS, NOISE = 800, 30, 24, 0.75
RATED, RATED_CLASSES = 80, 4
EVERY = 5  # answers between two looks at the gain
COUNTS = ("pairs", "pages")
CASES = ("pairs", "pages", "ratings", "evidence", "apc", "hacc", "subcluster")


@dataclass(frozen=True)
class Collection:
    """Vectors around the centres of classes of different sizes."""

    vectors: NDArray[np.float32]
    labels: NDArray[np.int64]

    @classmethod
    def drawn(cls, seed: int, items: int = ITEMS, classes: int = CLASSES) -> "Collection":
        rng = np.random.default_rng(seed)
        labels = rng.choice(classes, items, p=rng.dirichlet(np.full(classes, 3.0))).astype(np.int64)
        vectors = rng.normal(size=(classes, DIMENSIONS))[labels] + NOISE * rng.normal(size=(items, DIMENSIONS))
        return cls(prepare(vectors.astype(np.float32), "cosine"), labels)


def sampler_of(case: str, collection: Collection, seed: int, *, ahead: bool) -> Sampler[Any]:
    """The sampler as a campaign with people has it, or as one with a simulated oracle."""
    vectors, labels = collection.vectors, collection.labels
    if case in ("pairs", "pages"):
        lanes, grid = LANES if ahead else 1, 24 if case == "pages" else 1
        given: dict[str, Scalar] = {
            "grid": grid,
            "wrong_answers": "estimate",
            "lanes": lanes,
            "ahead": "likely",
            "search": "fast",
        }
        return make_counter("placing", vectors=vectors, degree=degree(vectors), seed=seed, parameters=given)
    if case == "ratings":
        return make_grouper("iu-red", without_vectors(np.ones(len(labels), np.bool_), seed, RATED_CLASSES))
    if case == "subcluster":
        options = Options(CLASSES, 6, seed=seed, likely=ahead)
        return ActiveSubclustering(draw_candidates(vectors, options), options)
    near = neighbors_in_memory(vectors, 50)
    clusters = CLASSES if case == "hacc" else None
    return make_grouper(
        case, GroupingInputs(vectors, near.index, near.similarity, seed, clusters, {"open": OPEN} if ahead else {})
    )


def gain_of(case: str, sampler: Sampler[Any], labels: NDArray[np.int64]) -> float:
    if isinstance(sampler, PlacingSampler):
        return float(sampler.placed)  # the estimate itself takes half a second
    result = sampler.result()
    if case == "subcluster":
        return float(subcluster_scores(labels, result.members[~result.surplus]).sjc)
    return float(ari(labels, result.labels)) if (result.labels >= 0).any() else 0.0


def course(case: str, seed: int, people: int, answers: int) -> list[float]:
    """The gain after 0, EVERY, 2 · EVERY … answers, one question at a time; for people, which is `people` above 0, at the end."""
    small = case == "ratings"
    collection = Collection.drawn(seed, RATED, RATED_CLASSES) if small else Collection.drawn(seed)
    labels, sampler = collection.labels, sampler_of(case, collection, seed, ahead=people > 0)
    known = Constraints()
    first: dict[int, int] = {}
    waiting: list[list[Question]] = []
    gains, given = [gain_of(case, sampler, labels)], 0

    def turn(look: list[Question]) -> tuple[int, int]:
        return first[look[0].u] if look[0].is_vote else look[0].id, look[0].id

    def tell(look: list[Question], value: Callable[[Question], float]) -> None:
        for question in look:
            if not question.is_vote:
                known.add(question.u, question.v, value(question), str(question.id))
        sampler.tell([Answer(q.id, q.u, q.v, value(q)) for q in look])

    def true(question: Question) -> float:
        same = labels[question.u] == labels[question.v]
        return (0.9 if same else 0.1) if question.kind == "rating" else float(same)

    while given < answers:
        left = answers - given
        depth = for_the_desk(AtTheDesk(people), len(waiting), given, left, independent=False) if people else 1
        asked = sampler.ask(max(0, min(depth, left) - len(waiting)))
        for question in asked:
            first.setdefault(question.u, question.id)
        looks: dict[object, list[Question]] = {}
        for question in asked:
            looks.setdefault(question.id if question.page is None else ("page", question.page), []).append(question)
        waiting += looks.values()
        free = [one for one in waiting if all(q.may_be_inferred and known.known(q.u, q.v) is not None for q in one)]
        for look in free:
            waiting.remove(look)
            tell(look, lambda q: float(known.known(q.u, q.v) or 0.0))
        withdrawn = set(sampler.needless()) if isinstance(sampler, Withdrawing) else set()
        for look in [one for one in waiting if all(q.id in withdrawn for q in one)]:
            waiting.remove(look)
            free.append(look)
            sampler.tell([WithdrawnAnswer(q.id, q.u, q.v, None) for q in look])
        if free:
            continue
        if not waiting:
            break
        waiting.sort(key=turn)
        tell(waiting.pop(0), true)
        given += 1
        if given % EVERY == 0 and not people:
            gains.append(gain_of(case, sampler, labels))
    return gains if not people else [gain_of(case, sampler, labels)]


def cost(reference: list[float], found: float) -> float:
    """Answers in parts of those that the reference needed for this gain, less one."""
    best = np.maximum.accumulate(reference)
    needed = next((i for i, gain in enumerate(best) if gain >= found), len(best) - 1)
    return (len(best) - 1) / max(needed, 1) - 1.0


def cell(case: str, references: list[list[float]], gains: list[float]) -> str:
    """What the gains cost, or how large they are."""
    if case not in COUNTS:
        return f"{statistics.fmean(gains):.3f}"
    costs = [cost(one, gain) for one, gain in zip(references, gains, strict=True)]
    error = statistics.stdev(costs) / len(costs) ** 0.5 if len(costs) > 1 else 0.0
    return f"{100 * statistics.fmean(costs):+.0f} % ± {100 * error:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--answers", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0, help="seeds that nothing was tuned on")
    parser.add_argument("--case", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--write", type=Path, default=None)
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    heads = " | ".join(f"{people} at the desk" for people in options.people)
    lines = [f"| questions | one by one | {heads} |", "|---|---|" + "---|" * len(options.people)]
    print("\n".join(lines), flush=True)
    for case in options.case:
        references = [course(case, seed, 0, options.answers) for seed in seeds]
        cells = [cell(case, references, [one[-1] for one in references])]
        for people in options.people:
            gains = [course(case, seed, people, options.answers)[-1] for seed in seeds]
            cells.append(cell(case, references, gains))
        lines.append(f"| {case} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    if options.write:
        paste(options.write, "asking-ahead", lines)


if __name__ == "__main__":
    main()
