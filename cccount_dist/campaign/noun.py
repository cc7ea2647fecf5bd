"""What is counted, in the user's own word, and counts as whole numbers: "about 25 individuals (24 to 28)". Light to import.

Nobody has seen half a lynx: in words and pictures an estimate is rounded, and an interval grows outwards to whole numbers, so
that it never claims more than it knows. JSON, tables of results and Python keep the exact numbers.
"""

import math
from dataclasses import dataclass

from storage.errors import InputError
from storage.settings import Goal

_LONGEST = 40  # letters of a noun
_LONGEST_QUESTION = 120
_SLACK = 1e-9  # what rounding may have added to a whole number
_VOWELS = "aeiou"


@dataclass(frozen=True, slots=True)
class Noun:
    """A word for one of them and for many."""

    one: str
    many: str

    def of(self, count: int) -> str:
        """
        >>> Noun("person", "people").of(1), Noun("person", "people").of(1250)
        ('1 person', '1,250 people')
        """
        return f"{count:,} {self.one if count == 1 else self.many}"

    def about(self, estimate: float, low: float, high: float) -> str:
        """
        >>> Noun("individual", "individuals").about(25.3, 24.2, 27.1)
        'about 25 individuals (24 to 28)'
        >>> Noun("lynx", "lynxes").about(9.0, 9.0, 9.0)  # an interval without width is no proof
        'about 9 lynxes'
        """
        first, last = whole_range(low, high)
        middle = self.of(whole(estimate))
        return f"about {middle}" if first == last else f"about {middle} ({first:,} to {last:,})"


CLUSTER, GROUP = Noun("cluster", "clusters"), Noun("group", "groups")  # where the user gave no word


def whole(estimate: float) -> int:
    """An estimate as people say it; there is at least one.

    >>> whole(24.5), whole(0.2)
    (25, 1)
    """
    return max(1, math.floor(estimate + 0.5))


def whole_range(low: float, high: float) -> tuple[int, int]:
    """An interval with whole ends, never narrower than it was.

    >>> whole_range(23.7, 27.2), whole_range(9.0, 9.0)
    ((23, 28), (9, 9))
    """
    first = max(1, math.floor(low + _SLACK))
    return first, max(first, math.ceil(high - _SLACK))


def read_noun(text: str) -> Noun:
    """Return the noun that `individual`, or `person/people` where the plural is not regular, stands for.

    >>> [read_noun(text).many for text in ("individual", "fox", "butterfly", "monkey", "person/people")]
    ['individuals', 'foxes', 'butterflies', 'monkeys', 'people']
    """
    words = [" ".join(part.split()) for part in text.split("/")]
    if len(words) > 2 or not all(words) or max(map(len, words)) > _LONGEST or not text.isprintable():
        raise InputError(
            f"--noun takes one word such as individual, or two with a stroke such as person/people, each at most {_LONGEST} "
            f"letters, not {text!r}"
        )
    return Noun(words[0], words[1] if len(words) == 2 else _plural(words[0]))


def check_question(text: str) -> None:
    """Refuse what cannot stand above a pair of pictures."""
    if not text.strip() or len(text) > _LONGEST_QUESTION or not text.isprintable():
        raise InputError(f"--question takes one line of at most {_LONGEST_QUESTION} letters, not {text[:200]!r}")


def noun_of(goal: Goal, otherwise: Noun = CLUSTER) -> Noun:
    """The word of a campaign; a neutral one if it has none."""
    return otherwise if goal.noun is None else read_noun(goal.noun)


def _plural(one: str) -> str:
    lower = one.lower()
    if lower.endswith("y") and lower[-2:-1] not in _VOWELS and len(one) > 1:
        return f"{one[:-1]}ies"
    return f"{one}es" if lower.endswith(("s", "x", "z", "ch", "sh")) else f"{one}s"
