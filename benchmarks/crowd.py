"""People who err: how many of the answers that their votes settle are right, at which cost in votes, and who is named.

    python -m benchmarks.crowd [--questions 2000] [--seeds 20] [--write docs/evidence/review.md]

Four people err in 4 % of their answers, one in 20 %, in both directions. Everybody answers whatever still wants votes, in an
order of chance, as at the desk; nobody is told who is good. Nothing but the ledger and the estimate of the rates runs here.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.pasting import paste
from cccount_dist.review.rates import reliability_of
from cccount_dist.sampling.ledger import Ledger, LoggedAnswer
from cccount_dist.sampling.types import Question

TEAM = {"ana": 0.04, "ben": 0.04, "cleo": 0.04, "dan": 0.04, "eve": 0.20}


@dataclass(frozen=True)
class Played:
    """A team that has answered questions until all were settled."""

    ledger: Ledger
    truth: NDArray[np.bool_]
    votes: int

    @property
    def wrong(self) -> int:
        told = [self.ledger.settled(number) for number in range(len(self.truth))]
        assert all(row is not None for row in told)
        return sum(row is not None and row.value != float(truth) for row, truth in zip(told, self.truth, strict=True))


def play(seed: int, *, questions: int, overlap: int, prevalence: float = 0.5, team: Mapping[str, float] = TEAM) -> Played:
    """Everybody answers whatever still wants votes, in an order of chance, as at the desk."""
    rng = np.random.default_rng(seed)
    truth = rng.random(questions) < prevalence
    ledger = Ledger(overlap)
    ledger.know([Question(number, 2 * number, 2 * number + 1) for number in range(questions)])
    names = list(team)
    votes, window = 0, 60
    open_ = list(range(questions))
    while open_:
        number = open_[int(rng.integers(min(window, len(open_))))]
        voters = {vote.annotator for vote in ledger.votes(number)}
        name = names[int(rng.integers(len(names)))]
        if name in voters:
            continue
        said = bool(truth[number]) != (rng.random() < team[name])
        ledger.take([LoggedAnswer(f"a{votes}", number, 2 * number, 2 * number + 1, float(said), "people", name)])
        votes += 1
        if not ledger.wanted(number) or len(voters) + 1 == len(names):
            open_.remove(number)
    return Played(ledger, truth, votes)


def row(overlap: int, prevalence: float, questions: int, seeds: int) -> str:
    played = [play(seed, questions=questions, overlap=overlap, prevalence=prevalence) for seed in range(seeds)]
    total = questions * seeds
    right = 1.0 - sum(p.wrong for p in played) / total
    votes = sum(p.votes for p in played) / total
    found = [reliability_of(p.ledger).suspects for p in played]
    named = "nothing to compare" if overlap == 1 else f"{sum(each == ['eve'] for each in found)} of {seeds}"
    return f"| {overlap} | {prevalence:.0%} | {votes:.2f} | {right:.2%} | {named} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--write", type=Path, default=None, help="put the table into this page of the documentation")
    options = parser.parse_args()
    lines = ["| overlap | same pairs | votes for each question | settled answers right | only the bad one named |"]
    lines.append("|---:|---:|---:|---:|---:|")
    for overlap in (1, 2, 3):
        lines += [row(overlap, prevalence, options.questions, options.seeds) for prevalence in (0.5, 0.15)]
    print("\n".join(lines))
    if options.write:
        paste(options.write, "crowd", lines)


if __name__ == "__main__":
    main()
