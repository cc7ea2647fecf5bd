"""Pairs that mislead everybody: a latent state of a pair, in which every answer to it is wrong.

Of the wrong answers a share comes again whenever the same two pictures are shown (`repeats.py` learns which share). So if a share
e of answers is wrong a pair misleads with probability m = share · e, and else answers are wrong by chance, with (e - m)/(1 - m).
The first answer about a pair says what it always said; another one that agrees with it says little, however often it comes.
Answers about other pictures of the same cluster are about other pairs, and say as much as first ones. O(1) for an answer.
"""

from dataclasses import dataclass, field


def chance_of(right: int, wrong: int, rate: float, share: float) -> float:
    """Probability of so many right and wrong answers about one pair, in the order in which they came.

    >>> round(chance_of(0, 1, 0.04, 0.5), 3), round(chance_of(0, 2, 0.04, 0.5) / 0.04, 3), round(chance_of(0, 2, 0.04, 0.0), 4)
    (0.04, 0.51, 0.0016)
    """
    misleads = share * rate
    by_chance = (rate - misleads) / (1.0 - misleads)
    honest = (1.0 - misleads) * (1.0 - by_chance) ** right * by_chance**wrong
    return honest if right else misleads + honest


def factor(said: tuple[int, int], *, same: bool, rates: tuple[float, float], share: float) -> float:
    """What one more answer about a pair does to the odds that it is the same.

    Parameters
    ----------
    said : how often it was called the same and different before
    rates : of misses, and of false "same"
    """
    before, after = said, (said[0] + same, said[1] + (not same))
    miss, false_same = rates
    if_same = chance_of(*after, miss, share) / chance_of(*before, miss, share)
    if_different = chance_of(*after[::-1], false_same, share) / chance_of(*before[::-1], false_same, share)
    return if_same / if_different


@dataclass(slots=True)
class Told:
    """What was said about each pair so far, and how sure placements are that rest on it."""

    pairs: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    shaky: float = 0.0  # items that are expected to be in a cluster that is not theirs

    def take(self, u: int, v: int, *, same: bool, rates: tuple[float, float], share: float) -> float:
        """Write down an answer, and return what it does to the odds."""
        pair = min(u, v), max(u, v)
        said = self.pairs.get(pair, (0, 0))
        self.pairs[pair] = said[0] + same, said[1] + (not same)
        return factor(said, same=same, rates=rates, share=share)
