"""Curves over the answers, for the report of a grouping: one panel, a few named lines, drawn for wide screens and for phones."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from cccount_dist.report.markup import Html, element
from cccount_dist.report.svg import FRAMES, Frame, Plot, ticks

_TONES = ("accent", "truth", "soft")
_APART = 17  # pixels between two lines of text


def lines(x: Sequence[int], curves: Mapping[str, Sequence[float]], described: str, *, top: float | None = None) -> Html:
    """Return the drawing of up to three curves; `described` is what a screen reader says instead of it."""
    return element("div", *(_drawn(x, curves, frame, described, top) for frame in FRAMES), class_="chart")


def _drawn(x: Sequence[int], curves: Mapping[str, Sequence[float]], frame: Frame, described: str, top: float | None) -> Html:
    high = top if top is not None else 1.08 * max(max(values) for values in curves.values()) or 1.0
    end = max(x) * 1.015 or 1.0
    plot = Plot(frame, (0.0, end), (0.0, high), right=96)
    plot.rows(ticks(0.0, high, 6, whole=False))
    plot.columns(ticks(0.0, end, frame.ticks - 1), "answers")
    heights = _apart([values[-1] for values in curves.values()], _APART * plot.pixel)
    for (name, values), tone, height in zip(curves.items(), _TONES, heights, strict=False):
        plot.line(list(zip(x, values, strict=True)), tone, 2.25)
        if len(x) == 1:
            plot.dot(x[0], values[0], tone, 6.0)
        plot.at_the_end(height, f"{name} {values[-1]:.3g}", tone)
    return plot.html(described)


def _apart(heights: Sequence[float], least: float) -> list[float]:
    """Move labels apart that would touch.

    >>> _apart([1.0, 1.0], 0.5)
    [1.0, 0.5]
    """
    out = list(heights)
    order = sorted(range(len(out)), key=lambda at: -out[at])
    for above, below in pairwise(order):
        out[below] = min(out[below], out[above] - least)
    return out
