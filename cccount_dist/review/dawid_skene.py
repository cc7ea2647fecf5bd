"""Dawid & Skene (1979) for same and different: each person's rates and each question's answer, estimated together by EM.

E: P(same | votes) ∝ π Π P(vote | same). M: a person misses as often as they say "different" where the answer is probably same,
and so on. A weak prior (2 wrong of 50; prevalence 1 of 2) keeps somebody with few votes in the middle; known answers (gold) stay
known. Time: votes times iterations, some dozens; memory: votes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PRIOR_WRONG, PRIOR_RIGHT = 2.0, 48.0
_ITERATIONS = 200
_SETTLED = 1e-6  # largest change of a probability at which EM stops


@dataclass(frozen=True, slots=True)
class Consensus:
    """What EM found. Counts are expected ones: votes where the answer is probably same, wrong ones among them, and so on."""

    same: NDArray[np.float64]  # (questions,) probability that the answer is same
    prevalence: float
    miss: NDArray[np.float64]  # (annotators,)
    false_same: NDArray[np.float64]
    same_votes: NDArray[np.float64]
    missed: NDArray[np.float64]
    different_votes: NDArray[np.float64]
    false: NDArray[np.float64]


def dawid_skene(
    question: NDArray[np.int64], annotator: NDArray[np.int64], said: NDArray[np.bool_], known: NDArray[np.float64]
) -> Consensus:
    """Estimate from votes: number of the question, number of the person, and whether they said same; one row a vote.

    `known` has a value for each question: 1 same, 0 different, NaN for what is to be found out.
    """
    questions, people = len(known), int(annotator.max(initial=-1)) + 1
    given = ~np.isnan(known)
    votes = np.bincount(question, minlength=questions)
    share = _sums(question, said.astype(np.float64), questions) / np.maximum(votes, 1)
    same = np.where(given, known, share)  # the share of votes is where EM begins
    for _ in range(_ITERATIONS):
        weight = same[question]
        same_votes = _sums(annotator, weight, people)
        missed = _sums(annotator, weight * ~said, people)
        different_votes = _sums(annotator, 1.0 - weight, people)
        false = _sums(annotator, (1.0 - weight) * said, people)
        miss = (PRIOR_WRONG + missed) / (PRIOR_WRONG + PRIOR_RIGHT + same_votes)
        false_same = (PRIOR_WRONG + false) / (PRIOR_WRONG + PRIOR_RIGHT + different_votes)
        asked = ~given & (votes > 0)
        prevalence = (1.0 + float(same[asked].sum())) / (2.0 + int(asked.sum()))
        odds = np.where(said, np.log((1.0 - miss) / false_same)[annotator], np.log(miss / (1.0 - false_same))[annotator])
        total = np.log(prevalence / (1.0 - prevalence)) + _sums(question, odds, questions)
        following = np.where(given, known, 1.0 / (1.0 + np.exp(-np.clip(total, -700.0, 700.0))))
        change = float(np.max(np.abs(following - same), initial=0.0))
        same = following
        if change < _SETTLED:
            break
    return Consensus(same, prevalence, miss, false_same, same_votes, missed, different_votes, false)


def _sums(place: NDArray[np.int64], weight: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    return np.bincount(place, weights=weight, minlength=size).astype(np.float64)
