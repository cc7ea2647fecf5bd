"""From several people's votes on a question to the one answer that the sampler is told.

With an overlap of one the first answer counts, and where people differ the majority, the first of equals. With more, a question
is settled when at least that many people were sure and the answer is at least 99 % probable under what is known about each of
them: P(same | votes) by Bayes' rule over their rates of misses and false sames (Dawid & Skene 1979, one vote at a time: rates are
counted on gold questions and on what is settled by now). That is for same or different; of ratings the mean counts, of any other
kind of answer the majority. Time and memory: the votes of one question, and four counts a person.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from cccount_dist.sampling.values import DIFFERENT, SAME
from storage.errors import InputError

CONFIDENT = 0.99  # a question with several votes is settled when its answer is so probable
MOST_OVERLAP = 5
MOST_PEOPLE = 1 << 30
_MORE = 3  # votes beyond the overlap that a disputed question gets at most
_PRIOR_WRONG, _PRIOR_RIGHT = 2.0, 48.0  # what is believed of somebody unknown: wrong in 4 % of the answers


class Vote(Protocol):
    """What settling looks at in an answer."""

    @property
    def annotator(self) -> str: ...
    @property
    def value(self) -> float | None: ...


def check_overlap(overlap: int) -> int:
    if not 1 <= overlap <= MOST_OVERLAP:
        raise InputError(f"the overlap, people who answer each question, must be 1 to {MOST_OVERLAP}, not {overlap}")
    return overlap


def most_votes(overlap: int) -> int:
    """Return how many people are asked at most, where they do not agree."""
    return overlap + _MORE


class Reliability:
    """How often each annotator was wrong, as far as it is known by now. What was learnt can be forgotten again, exactly."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, float]] = Counter()  # (annotator, truth) -> answers
        self._wrong: Counter[tuple[str, float]] = Counter()  # and wrong ones among them
        self._settled: Counter[float] = Counter()

    def learn(self, truth: float, said: Mapping[str, float], *, times: int = 1, asked: bool = True) -> None:
        """Take in what people said about a pair whose answer is known; `times=-1` forgets it.

        Gold pairs are chosen by us, not `asked` by the sampler: they say nothing about how often the answer is same.
        """
        if asked:
            self._settled[truth] += times
        for annotator, value in said.items():
            self._seen[annotator, truth] += times
            if value != truth:
                self._wrong[annotator, truth] += times

    def rate(self, annotator: str, truth: float) -> float:
        """Return the believed rate of wrong answers where the truth is `truth`: misses for same, false sames for different."""
        key = (annotator, truth)
        wrong = (_PRIOR_WRONG + self._wrong[key]) / (_PRIOR_WRONG + _PRIOR_RIGHT + self._seen[key])
        return min(wrong, 0.5)

    def log_odds(self, said: Mapping[str, float]) -> float:
        """Return the log odds of same over different, given what different people said."""
        odds = math.log((1.0 + self._settled[SAME]) / (1.0 + self._settled[DIFFERENT]))
        for annotator, value in said.items():
            miss, false_same = self.rate(annotator, SAME), self.rate(annotator, DIFFERENT)
            odds += math.log((1.0 - miss) / false_same if value == SAME else miss / (1.0 - false_same))
        return odds


@dataclass(frozen=True, slots=True)
class Verdict:
    """What votes amount to. `value` is None for unsure; an open one has none yet. `disputed`: people differ, nothing decides."""

    settled: bool
    value: float | None = None
    disputed: bool = False


_OPEN = Verdict(settled=False)


def first_votes(votes: Sequence[Vote]) -> dict[str, float | None]:
    """Return one vote for each person: the first that was not taken back."""
    said: dict[str, float | None] = {}
    for vote in votes:
        said.setdefault(vote.annotator, vote.value)
    return said


def settle(
    votes: Sequence[Vote], overlap: int, reliability: Reliability, *, people: int = MOST_PEOPLE, rating: bool = False
) -> Verdict:
    """Return what the votes on one question, in the order in which they came, amount to.

    `people` have answered anything so far: if all of them have voted on this one and it is still doubtful, the likelier answer
    holds, and the question stays disputed until more votes decide. Nobody waits for a person who may never come. `rating`: the
    values are numbers whose mean is meant (`settle_by_mean`).
    """
    if rating:
        return settle_by_mean(votes, overlap, reliability, people=people)
    said = first_votes(votes)
    if overlap == 1:
        return _by_majority(list(said.values()))
    sure = {annotator: value for annotator, value in said.items() if value is not None}
    disputed = len(set(sure.values())) > 1
    odds = reliability.log_odds(sure)
    likely = SAME if odds > 0.0 else DIFFERENT
    confident = 1.0 / (1.0 + math.exp(-abs(odds))) >= CONFIDENT and likely in sure.values()
    if len(sure) >= overlap and confident:
        return Verdict(settled=True, value=likely)
    if len(said) - len(sure) >= overlap:
        return Verdict(settled=True, disputed=disputed)
    if len(said) >= max(overlap, min(most_votes(overlap), people)) and sure:
        return Verdict(settled=True, value=likely if likely in sure.values() else max(sure.values()), disputed=True)
    return Verdict(settled=False, disputed=disputed)


def settle_by_mean(votes: Sequence[Vote], overlap: int, reliability: Reliability, *, people: int = MOST_PEOPLE) -> Verdict:
    """As `settle`, for ratings: the mean of those who were sure, once they are enough; nobody disputes a rating."""
    del reliability, people
    said = first_votes(votes)
    if overlap == 1:
        return _by_majority(list(said.values()))
    sure = [value for value in said.values() if value is not None]
    enough = len(sure) >= overlap
    return Verdict(settled=True, value=math.fsum(sure) / len(sure)) if enough else _unsure(said, overlap)


def settle_by_majority(votes: Sequence[Vote], overlap: int, reliability: Reliability, *, people: int = MOST_PEOPLE) -> Verdict:
    """As `settle`, for answers of any other meaning: what most say, once enough were sure and one answer leads."""
    del reliability
    said = first_votes(votes)
    if overlap == 1:
        return _by_majority(list(said.values()))
    sure = [value for value in said.values() if value is not None]
    leading, differ = _by_majority(sure), len(set(sure)) > 1
    if len(sure) >= overlap and not leading.disputed:
        return leading
    if len(said) - len(sure) >= overlap:
        return Verdict(settled=True, disputed=differ)
    if len(said) >= max(overlap, min(most_votes(overlap), people)) and sure:
        return Verdict(settled=True, value=leading.value, disputed=True)
    return Verdict(settled=False, disputed=differ)


def _unsure(said: Mapping[str, float | None], overlap: int) -> Verdict:
    return Verdict(settled=True) if sum(value is None for value in said.values()) >= overlap else _OPEN


def _by_majority(values: Sequence[float | None]) -> Verdict:
    if not values:
        return _OPEN
    counts = Counter(values)
    most = max(counts.values())
    leading = [value for value in counts if counts[value] == most]  # in the order in which they came
    return Verdict(settled=True, value=leading[0], disputed=len([value for value in leading if value is not None]) > 1)
