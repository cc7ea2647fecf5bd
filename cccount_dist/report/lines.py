"""Curves over the answers, for the report of a grouping: one panel, a few named lines, drawn for wide screens and for phones."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from cccount_dist.report.chart import FRAMES, Frame, drawing
from cccount_dist.report.markup import Html, element
from cccount_dist.report.svg import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TONES = ("accent", "truth", "soft")


def lines(x: Sequence[int], curves: Mapping[str, Sequence[float]], described: str, *, top: float | None = None) -> Html:
    """Return the drawing of up to three curves; `described` is what a screen reader says instead of it."""
    return element("div", *(_drawn(x, curves, frame, described, top) for frame in FRAMES), class_="chart")


def _drawn(x: Sequence[int], curves: Mapping[str, Sequence[float]], frame: Frame, described: str, top: float | None) -> Html:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    def draw(axes: "Axes") -> None:
        axes.set_ylim(0.0, top if top is not None else 1.08 * max(max(values) for values in curves.values()) or 1.0)
        axes.set_xlim(0, max(x) * 1.015 or 1)
        axes.xaxis.set_major_locator(MaxNLocator(frame.ticks - 1, integer=True, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.grid(axis="y", color=COLOURS["line"], linewidth=1)
        axes.set_axisbelow(True)
        axes.spines["bottom"].set_color(COLOURS["line"])
        axes.tick_params(length=0, pad=8, labelcolor=COLOURS["soft"])
        axes.set_xlabel("answers", color=COLOURS["soft"], labelpad=6)
        heights = _apart([values[-1] for values in curves.values()], 17 * (axes.get_ylim()[1]) / (frame.height - 66))
        for (name, values), tone, height in zip(curves.items(), _TONES, heights, strict=False):
            axes.plot(x, values, color=COLOURS[tone], linewidth=2.25, marker="o" if len(x) == 1 else "", zorder=3)
            axes.annotate(
                f"{name} {values[-1]:.3g}", (1.0, height), xycoords=("axes fraction", "data"), xytext=(6, 0),
                textcoords="offset points", verticalalignment="center", color=COLOURS[tone], annotation_clip=False,
            )  # fmt: skip

    return drawing(frame, draw, described, right=96)


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
