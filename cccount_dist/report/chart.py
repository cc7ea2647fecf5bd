"""The picture of a count: the estimate and its interval over the answers, the truth as a line where it is known.

It is drawn twice, for wide screens and for phones: a drawing that is made smaller makes its letters smaller, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cccount_dist.campaign.noun import whole
from cccount_dist.report.facts import Estimate
from cccount_dist.report.markup import Html, element
from cccount_dist.report.svg import COLOURS, inline_svg
from cccount_dist.report.wording import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 200
_MOST_DOTS = 40  # more points than this are a line without dots
_MOST_MARKS = 12  # arrows where the interval leaves the picture
_DPI = 72.0  # of matplotlib's SVG
_LEFT, _RIGHT, _ABOVE, _BELOW = 44, 76, 14, 52  # pixels around the plot, for the labels
_APART = 17  # pixels between two lines of text


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing's size in CSS pixels, and which screens show it."""

    name: str
    width: int
    height: int
    ticks: int


FRAMES = (Frame("wide", 736, 330, 7), Frame("narrow", 344, 290, 4))


def chart(estimates: Sequence[Estimate], truth: int | None, described: str) -> Html:
    """Return the chart of at least one estimate; `described` is what a screen reader says instead of it."""
    shown = [estimates[place] for place in thinned(len(estimates), MOST_POINTS)]
    return element("div", *(_drawn(shown, truth, frame, described) for frame in FRAMES), class_="chart")


def _drawn(estimates: Sequence[Estimate], truth: int | None, frame: Frame, described: str) -> Html:
    def draw(axes: "Axes") -> None:
        _scales(axes, estimates, truth, frame)
        _curves(axes, estimates, truth)
        _end_labels(axes, estimates[-1], truth, frame)

    return drawing(frame, draw, described)


def drawing(frame: Frame, draw: Callable[["Axes"], None], described: str, *, left: int = _LEFT, right: int = _RIGHT) -> Html:
    """Return one drawing, in the style of all of them."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: dict[Any, object] = {
        "svg.fonttype": "none",  # letters stay letters: selectable, and in the page's font
        "svg.hashsalt": f"{frame.name} {described}",  # ids are the same each time, and differ between the drawings
        "font.size": 13.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.spines.left": False,
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(frame.width / _DPI, frame.height / _DPI), dpi=_DPI)
        across, up = 1 / frame.width, 1 / frame.height
        axes = figure.add_axes((left * across, _BELOW * up, 1 - (left + right) * across, 1 - (_ABOVE + _BELOW) * up))
        draw(axes)
        return inline_svg(figure, described, frame.name)


def _curves(axes: "Axes", estimates: Sequence[Estimate], truth: int | None) -> None:
    x = [row.answers for row in estimates]
    # Drawn in to just outside of the picture: a line from a value far above it would fall only at its very end.
    bottom, top = axes.get_ylim()
    outside = 0.05 * (top - bottom)
    low, middle, high = (
        [min(max(value, bottom - outside), top + outside) for value in values]
        for values in zip(*((row.low, row.estimate, row.high) for row in estimates), strict=True)
    )
    if len(estimates) == 1:
        axes.vlines(x, low, high, color=COLOURS["band"], linewidth=12, zorder=1)
    else:
        axes.fill_between(x, low, high, color=COLOURS["band"], linewidth=0, zorder=1)
    if truth is not None:
        axes.axhline(truth, color=COLOURS["truth"], linewidth=1.5, dashes=(5, 4), zorder=2)
    if any(row.seen is not None and row.seen > 1.0 for row in estimates):
        seen = [min(max(row.seen or 1.0, bottom - outside), top + outside) for row in estimates]
        axes.plot(x, seen, color=COLOURS["soft"], linewidth=1.5, dashes=(1.5, 2), zorder=2)
    _marks(axes, estimates)
    dots = "o" if len(estimates) <= _MOST_DOTS else ""
    axes.plot(x, middle, color=COLOURS["accent"], linewidth=2.25, marker=dots, markersize=5, zorder=3)


def _marks(axes: "Axes", estimates: Sequence[Estimate]) -> None:
    """Say where the interval is cut off by the edge of the picture: an arrow at the edge, at most one in a few pixels."""
    bottom, top = axes.get_ylim()
    step = max(row.answers for row in estimates) / _MOST_MARKS
    above = [row.answers for row in estimates if row.high > top]
    below = [row.answers for row in estimates if row.low < bottom]
    for edge, marker, leaves in ((top, "^", above), (bottom, "v", below)):
        last = -step
        for place in leaves:
            if place - last >= step:
                last = place
                axes.plot([last], [edge], marker, color=COLOURS["soft"], markersize=7, clip_on=False, zorder=4)


def leaves_the_chart(estimates: Sequence[Estimate], truth: int | None) -> bool:
    """Whether some interval is cut off by the edge of the picture."""
    bottom, top = _vertical(estimates, truth)
    return any(row.high > top or row.low < bottom for row in estimates)


def _scales(axes: "Axes", estimates: Sequence[Estimate], truth: int | None, frame: Frame) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes.set_ylim(*_vertical(estimates, truth))
    axes.set_xlim(0, max(row.answers for row in estimates) * 1.015 or 1)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(frame.ticks - 1, integer=True, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.grid(axis="y", color=COLOURS["line"], linewidth=1)
    axes.set_axisbelow(True)
    axes.spines["bottom"].set_color(COLOURS["line"])
    axes.tick_params(length=0, pad=8, labelcolor=COLOURS["soft"])
    axes.set_xlabel("answers", color=COLOURS["soft"], labelpad=6)


def _end_labels(axes: "Axes", last: Estimate, truth: int | None, frame: Frame) -> None:
    """Name the lines at their right ends, where the eye arrives; moved apart where they would touch."""
    bottom, top = axes.get_ylim()
    pixel = (top - bottom) / (frame.height - _ABOVE - _BELOW)
    labels = [("accent", f"{whole(last.estimate):,}", last.estimate)]
    if truth is not None:
        gap = last.estimate - truth
        push = max(0.0, _APART * pixel - abs(gap)) / 2 * (1 if gap >= 0 else -1)
        labels = [("accent", labels[0][1], last.estimate + push), ("truth", f"truth {truth:,}", truth - push)]
    for name, text, height in labels:
        axes.annotate(
            text,
            (1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            verticalalignment="center",
            color=COLOURS[name],
            fontweight="bold" if name == "accent" else "normal",
            annotation_clip=False,
        )


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
