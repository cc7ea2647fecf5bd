"""The picture of a count: the estimate and its interval over the answers, the truth as a line where it is known.

It is drawn twice, for wide screens and for phones: a drawing that is made smaller makes its letters smaller, too.
"""

from collections.abc import Sequence

from cccount_dist.campaign.noun import whole
from cccount_dist.report.facts import Estimate
from cccount_dist.report.markup import Html, element
from cccount_dist.report.svg import FRAMES, Frame, Plot, ticks
from cccount_dist.report.wording import thinned

MOST_POINTS = 200
_MOST_DOTS = 40  # more points than this are a line without dots
_MOST_MARKS = 12  # arrows where the interval leaves the picture
_APART = 17  # pixels between two lines of text


def chart(estimates: Sequence[Estimate], truth: int | None, described: str) -> Html:
    """Return the chart of at least one estimate; `described` is what a screen reader says instead of it."""
    shown = [estimates[place] for place in thinned(len(estimates), MOST_POINTS)]
    return element("div", *(_drawn(shown, truth, frame, described) for frame in FRAMES), class_="chart")


def _drawn(estimates: Sequence[Estimate], truth: int | None, frame: Frame, described: str) -> Html:
    bottom, top = _vertical(estimates, truth)
    end = max(row.answers for row in estimates) * 1.015 or 1.0
    plot = Plot(frame, (0.0, end), (bottom, top))
    plot.rows(ticks(bottom, top, frame.ticks - 1))
    plot.columns(ticks(0.0, end, frame.ticks - 1), "answers")
    _curves(plot, estimates, truth)
    _end_labels(plot, estimates[-1], truth)
    return plot.html(described)


def _curves(plot: Plot, estimates: Sequence[Estimate], truth: int | None) -> None:
    x = [float(row.answers) for row in estimates]
    # Drawn in to just outside of the picture: a line from a value far above it would fall only at its very end.
    bottom, top = plot.y
    outside = 0.05 * (top - bottom)
    low, middle, high, seen = (
        [min(max(value, bottom - outside), top + outside) for value in values]
        for values in zip(*((row.low, row.estimate, row.high, row.seen or 1.0) for row in estimates), strict=True)
    )
    if len(estimates) == 1:
        plot.line([(x[0], low[0]), (x[0], high[0])], "band", 12.0)
    else:
        plot.band(x, low, high, "band")
    if truth is not None:
        plot.line([(plot.x[0], truth), (plot.x[1], truth)], "truth", 1.5, dashes="7.5 6")
    if any(row.seen is not None and row.seen > 1.0 for row in estimates):
        plot.line(list(zip(x, seen, strict=True)), "soft", 1.5, dashes="2.25 3")
    _marks(plot, estimates)
    plot.line(list(zip(x, middle, strict=True)), "accent", 2.25)
    for row in estimates if len(estimates) <= _MOST_DOTS else ():
        plot.dot(row.answers, row.estimate, "accent", 6.0)


def _marks(plot: Plot, estimates: Sequence[Estimate]) -> None:
    """Say where the interval is cut off by the edge of the picture: an arrow at the edge, at most one in a few pixels."""
    bottom, top = plot.y
    step = max(row.answers for row in estimates) / _MOST_MARKS
    outside = {
        True: [row.answers for row in estimates if row.high > top],
        False: [row.answers for row in estimates if row.low < bottom],
    }
    for above, leaves in outside.items():
        last = -step
        for place in leaves:
            if place - last >= step:
                last = place
                plot.arrow(place, above=above, tone="soft")


def leaves_the_chart(estimates: Sequence[Estimate], truth: int | None) -> bool:
    """Whether some interval is cut off by the edge of the picture."""
    bottom, top = _vertical(estimates, truth)
    return any(row.high > top or row.low < bottom for row in estimates)


def _end_labels(plot: Plot, last: Estimate, truth: int | None) -> None:
    """Name the lines at their right ends; moved apart where they would touch."""
    push = 0.0
    if truth is not None:
        gap = last.estimate - truth
        push = max(0.0, _APART * plot.pixel - abs(gap)) / 2 * (1 if gap >= 0 else -1)
        plot.at_the_end(truth - push, f"truth {truth:,}", "truth")
    plot.at_the_end(last.estimate + push, f"{whole(last.estimate):,}", "accent", bold=True)


def _vertical(estimates: Sequence[Estimate], truth: int | None) -> tuple[float, float]:
    """The first intervals are often many times wider than the last: they may leave the picture, the last one may not."""
    last = estimates[-1]
    must = [last.low, last.high, last.estimate, last.estimate if truth is None else float(truth)]
    span = max(max(must) - min(must), 0.25 * last.estimate, 1.0)
    top = min(max(*must, *(row.high for row in estimates)), max(must) + 2 * span)
    bottom = max(min(*must, *(row.low for row in estimates)), min(must) - 2 * span)
    # A count that never moved still gets room around it: without it every tick would be the same number.
    margin = max(0.08 * (top - bottom), 2.0 - (top - bottom) / 2)
    return max(0.0, bottom - margin), top + margin
