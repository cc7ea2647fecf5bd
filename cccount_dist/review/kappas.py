"""How far people agree beyond what chance would give: Cohen's kappa of two, Krippendorff's alpha of any number.

Cohen (1960): κ = (p_o − p_e) / (1 − p_e). Krippendorff (2004), nominal: α = 1 − D_o / D_e over the coincidences of all pairs of
votes on a question. Unsure is no value. Time and memory: linear in the votes; pairs of people are shown for the busiest only.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

MOST_PEOPLE = 40  # whose agreement is shown two by two: nobody reads a table of more


def cohen(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return kappa of what two people said to the same questions; None if chance alone would make them agree always.

    >>> cohen([(1, 1), (1, 1), (0, 0), (0, 1)])
    0.5
    """
    if not pairs:
        return None
    total = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    by_chance = sum(first[value] * second[value] for value in first) / total**2
    if by_chance == 1.0:
        return None
    return (sum(a == b for a, b in pairs) / total - by_chance) / (1.0 - by_chance)


def krippendorff(questions: Iterable[Sequence[float]]) -> float | None:
    """Return alpha of the votes on each question; None while no question has two, or all votes are alike.

    >>> krippendorff([(1, 1), (0, 0), (1, 0), (1, 1, 1)])  # doctest: +ELLIPSIS
    0.55...
    """
    disagreeing = 0.0
    values: Counter[float] = Counter()
    for votes in questions:
        if len(votes) < 2:
            continue
        counts = Counter(votes)
        values.update(counts)
        pairs = len(votes) ** 2 - sum(count**2 for count in counts.values())
        disagreeing += pairs / (len(votes) - 1)
    total = values.total()
    expected = total**2 - sum(count**2 for count in values.values())
    return None if expected == 0 else 1.0 - (total - 1) * disagreeing / expected


def kappas(said: Iterable[Mapping[str, float]]) -> list[tuple[str, str, float | None, int]]:
    """Return for every two people who answered a question both: their names, kappa, and how many such questions there are.

    Of more than `MOST_PEOPLE` people only those who answered most.
    """
    asked = list(said)
    busy = Counter(name for votes in asked for name in votes)
    shown = set(sorted(busy, key=lambda name: (-busy[name], name))[:MOST_PEOPLE])
    together: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for votes in asked:
        names = sorted(shown.intersection(votes))
        for place, first in enumerate(names):
            for second in names[place + 1 :]:
                together.setdefault((first, second), []).append((votes[first], votes[second]))
    return [(*names, cohen(pairs), len(pairs)) for names, pairs in sorted(together.items())]
