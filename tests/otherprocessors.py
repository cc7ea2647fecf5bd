"""What every method asks about one collection, told by a process of its own: run under the settings of another processor.

    python -m tests.otherprocessors vectors.npz

The vectors, neighbours and degrees come from a file, as they come from a workspace: what is computed again in a replay is the
sampler. Answers are the labels; every seventh is wrong, and every eleventh unsure.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba.core.registry import CPUDispatcher
from numpy.typing import NDArray
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from cccount_dist.clustering import methods as grouping
from cccount_dist.counting import methods as counting
from cccount_dist.sampling.drive import PAGE_COST
from cccount_dist.sampling.oracles import SimilarityOracle
from cccount_dist.sampling.types import Answer, Question, Sampler, asked_at_once
from cccount_dist.similarity.sharp import SharpRows
from cccount_dist.subclustering.passive import Options, draw_candidates
from cccount_dist.subclustering.subcluster_sampler import ActiveSubclustering

PAIRS = 150  # or sheets for as long: evidence learns a space of its own after 64, catalogue fits one now and then
_RATED = 24  # items for methods that rate similarities: with more they only connect


@dataclass(frozen=True)
class Stored:
    """What a workspace holds."""

    vectors: NDArray[np.float32]
    degree: NDArray[np.float64]
    index: NDArray[np.int32]
    similarity: NDArray[np.float32]
    labels: NDArray[np.int64]

    @classmethod
    def read(cls, path: Path) -> "Stored":
        with np.load(path) as file:
            return cls(**{name: file[name] for name in file.files})


def samplers(stored: Stored) -> Iterator[tuple[str, Sampler[object]]]:
    """Every method, made as a campaign makes it."""
    sharp = SharpRows(stored.vectors, stored.index)
    for method in counting.counting_methods():
        made = counting.make_counter(
            method,
            vectors=stored.vectors,
            degree=stored.degree,
            seed=3,
            parameters={},
            sharp=lambda: sharp,
            neighbors=lambda: stored.index,
        )
        yield f"count/{method}", made
    for method in grouping.grouping_methods():
        found = grouping.grouping_method(method)
        told = len(np.unique(stored.labels)) if "clusters" in found.needs else None
        if found.takes("ratings"):
            given = grouping.without_vectors(np.arange(len(stored.labels)) < _RATED, 3, told, {})
        else:
            given = grouping.GroupingInputs(stored.vectors, stored.index, stored.similarity, 3, told, {})
        yield f"cluster/{method}", grouping.make_grouper(method, given)
    options = Options(5, 3, seed=3)
    yield "subcluster/active", ActiveSubclustering(draw_candidates(stored.vectors, options), options)


def asked(sampler: Sampler[object], labels: NDArray[np.int64]) -> list[str]:
    """The questions of a short campaign."""
    said: list[str] = []
    effort = 0.0
    while effort < PAIRS and (questions := sampler.ask(4)):
        paged = questions[0].page is not None
        effort += asked_at_once(questions) * (PAGE_COST if paged else 1)
        for question in questions:
            said.append(f"{question.id} {question.kind} {question.u} {question.v} {question.purpose} {question.page}")
            sampler.tell([Answer(question.id, question.u, question.v, _answer(question, labels))])
    return said


def _answer(question: Question, labels: NDArray[np.int64]) -> float | None:
    if question.id % 11 == 10:
        return None
    same = bool(labels[question.u] == labels[question.v])
    return float(same != (question.id % 7 == 6))


def rated(vectors: NDArray[np.float32]) -> list[float | None]:
    """What a simulation answers that rates by similarity: it may be killed on one machine and go on on another."""
    oracle = SimilarityOracle(vectors, noise=0.05, seed=3)
    return [oracle.answer(Question(u, u, v, "rating")) for u, v in enumerate(range(1, len(vectors)))]


def processor() -> dict[str, str]:
    """What the libraries compute for, as they say it themselves."""
    loops = np.lib.introspect.opt_func_info(func_name="add$", signature="float32")
    return {
        "openblas": " ".join(sorted({str(one.get("architecture")) for one in threadpool_info()})),
        "numpy": str(loops["add"]["fff"]["current"]),
        "numba": str(CPUDispatcher.targetdescr.target_context.codegen().magic_tuple()[1]),
    }


def main() -> None:
    """Print the questions of every method, and ratings of a simulation, as JSON."""
    stored = Stored.read(Path(sys.argv[1]))
    asks = {name: asked(sampler, stored.labels) for name, sampler in samplers(stored)}
    json.dump({"processor": processor(), "questions": asks, "ratings": rated(stored.vectors)}, sys.stdout)


if __name__ == "__main__":
    main()
