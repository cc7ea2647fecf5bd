"""How many questions the wanted width of the interval will take, from what is known now.

Placing obeys a law: with K equal clusters of which the share x was seen, and items compared with all clusters seen until a match,

    questions  T(x) = K²/2 [-ln(1-x) - x + x²/2],        information on log K  I(x) = K [x/(1-x) + ln(1-x)]

so K², not the number of items, decides. The law is scaled to what this campaign has taken so far and how wide its interval is.
"""

import math
from dataclasses import dataclass

from cccount_dist.counting.result import CountResult

_MOST_SEEN = 1.0 - 1e-9
_FREE = 0.25  # of the law's questions: a campaign that took fewer had answers of others
_WRONG_ANSWERS = 1.4  # what asking again costs, in questions: measured 1.1 to 2


def questions_by_law(clusters: float, seen: float) -> float:
    """T(x): questions until the share `seen` of equal clusters was seen.

    >>> round(questions_by_law(100, 0.5))
    1591
    """
    x = min(seen, _MOST_SEEN)
    return clusters**2 / 2 * (-math.log1p(-x) - x + x**2 / 2)


def width_by_law(clusters: float, seen: float) -> float:
    """Width of a 95 % interval in parts of the estimate, 3.92/√I(x).

    >>> round(width_by_law(100, 0.5), 2)
    0.71
    """
    x = min(seen, _MOST_SEEN)
    return 3.92 / math.sqrt(clusters * (x / (1 - x) + math.log1p(-x)))


def seen_at_width(clusters: float, width: float) -> float:
    """The share of equal clusters that must have been seen for an interval of this width.

    >>> round(seen_at_width(100, 0.71), 1)
    0.5
    """
    low, high = 0.0, _MOST_SEEN
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if middle == 0.0 or width_by_law(clusters, middle) > width else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class Effort:
    """Questions asked one by one, and pages."""

    questions: float
    glances: float


def effort_by_law(clusters: float, seen: float, *, grid: int = 1, wrong_answers: bool = False) -> Effort:
    """T(x) in pairs; or in pages, of which an item takes one for each `grid` clusters, and about one pair to confirm it.

    >>> round(effort_by_law(100, 0.5).questions), round(effort_by_law(100, 0.5, grid=24).glances)
    (1591, 136)
    """
    comparisons = questions_by_law(clusters, seen)
    more = _WRONG_ANSWERS if wrong_answers else 1.0
    if grid == 1:
        return Effort(comparisons * more, 0.0)
    items = -clusters * math.log1p(-min(seen, _MOST_SEEN))
    return Effort(items * more, comparisons / grid + items)


def forecast_questions(result: CountResult, questions: float, target_width: float | None) -> int | None:
    """Return the questions in all until the interval is `target_width` times the estimate wide; None if that cannot be said.

    For nested sampling with N : M = 1 : 7 the number of anchors grows as the root of the questions T, and the interval shrinks as
    1/√N: so its width falls as T^(-1/4).

    >>> forecast_questions(CountResult(100.0, 80.0, 120.0, 0.95, 10, 700), 700, 0.2)
    11200
    """
    if target_width is None or result.estimate is None or result.anchors < 2:
        return None
    if "new_items" in result.details:  # what was known before the collection grew: its width says nothing about what is left
        return None
    if questions <= 0:  # everything came from other campaigns: what an answer brings here is not known yet
        return None
    if result.relative_width <= target_width:
        return math.ceil(questions)
    if "items_placed" in result.details:
        return _forecast_placing(result, questions, target_width)
    return math.ceil(questions * (result.relative_width / target_width) ** 4)


def _forecast_placing(result: CountResult, questions: float, target_width: float) -> int:
    clusters = max(result.estimate or 1.0, result.certain_low)
    found = result.details.get("clusters_found", result.certain_low)
    seen = min(found / clusters, 1.0 - 0.5 / clusters)
    wanted = target_width * width_by_law(clusters, seen) / result.relative_width
    reached = max(seen_at_width(clusters, wanted), seen)
    before = questions_by_law(clusters, seen)
    if questions < _FREE * before:  # most came from other campaigns: this one pays for the rest by the law itself
        return math.ceil(questions + questions_by_law(clusters, reached) - before)
    return math.ceil(questions * questions_by_law(clusters, reached) / before)
