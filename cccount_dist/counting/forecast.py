"""How many questions the wanted width of the interval will take, from what is known now."""

import math

from cccount_dist.counting.result import CountResult


def forecast_questions(result: CountResult, questions: int, target_width: float | None) -> int | None:
    """Return the questions in all until the interval is `target_width` times the estimate wide; None if that cannot be said.

    With N : M = 1 : 7 the number of anchors grows as the root of the questions T, and the interval shrinks as 1/√N: so its width
    falls as T^(-1/4).

    >>> forecast_questions(CountResult(100.0, 80.0, 120.0, 0.95, 10, 700), 700, 0.2)
    11200
    """
    if target_width is None or result.estimate is None or result.anchors < 2:
        return None
    if result.relative_width <= target_width:
        return questions
    return math.ceil(questions * (result.relative_width / target_width) ** 4)
