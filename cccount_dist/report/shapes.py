"""Two more pictures of a count: how large the clusters are that were seen, and what each way to count says.

Both are drawn for wide screens and for phones, as `chart.py` does it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cccount_dist.campaign.noun import CLUSTER, Noun, whole
from cccount_dist.report.chart import FRAMES, Frame, drawing
from cccount_dist.report.facts import Way
from cccount_dist.report.markup import Html, element
from cccount_dist.report.svg import COLOURS
from cccount_dist.report.wording import ends

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

MOST_BARS = 12


def binned(sizes: Mapping[int, int]) -> list[tuple[str, int]]:
    """Sizes and how many clusters have them: one by one while they are few, then each bar twice as wide as the one before.

    >>> binned({1: 4, 2: 3, 5: 1})
    [('1', 4), ('2', 3), ('3', 0), ('4', 0), ('5', 1)]
    >>> binned({1: 4, 100: 1})[-1]
    ('64–127', 1)
    """
    largest = max(sizes)
    if largest <= MOST_BARS:
        return [(str(size), sizes.get(size, 0)) for size in range(1, largest + 1)]
    bars, start = [], 1
    while start <= largest:
        stop = 2 * start
        count = sum(times for size, times in sizes.items() if start <= size < stop)
        bars.append((str(start) if stop - start == 1 else f"{start}–{stop - 1}", count))
        start = stop
    return bars


def size_chart(sizes: Mapping[int, int], noun: Noun = CLUSTER) -> Html:
    """Bars: clusters seen, by how many drawn items are in them."""
    bars = binned(sizes)
    said = ", ".join(f"{noun.of(count)} with {name}" for name, count in bars if count)
    described = f"Chart: of the items drawn, {said}."

    def draw(axes: "Axes", frame: Frame) -> None:
        from matplotlib.ticker import MaxNLocator

        places = range(len(bars))
        axes.bar(places, [count for _, count in bars], color=COLOURS["accent"], width=0.72, zorder=2)
        axes.set_xticks(
            list(places), [name if frame.width > 500 or not place % 2 else "" for place, (name, _) in enumerate(bars)]
        )
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.set_ylim(0, max(count for _, count in bars) * 1.08)
        _quiet(axes, f"items drawn of one {noun.one}")
        axes.grid(axis="y", color=COLOURS["line"], linewidth=1)

    return _both(draw, described, height=240)


def way_chart(ways: Sequence[Way], noun: Noun = CLUSTER) -> Html:
    """One line for each way: its interval, and its estimate as a dot."""
    said = "; ".join(f"{way.name} {whole(way.estimate):,}, {' to '.join(ends(way.low, way.high))}" for way in ways)

    def draw(axes: "Axes", frame: Frame) -> None:  # noqa: ARG001
        from matplotlib.ticker import MaxNLocator

        for place, way in enumerate(ways):
            main = place == 0
            axes.plot(
                [way.low, way.high], [-place, -place], color=COLOURS["accent" if main else "soft"], linewidth=5 if main else 3
            )
            axes.plot([way.estimate], [-place], "o", color=COLOURS["ink"], markersize=7, zorder=3)
        axes.set_yticks([-place for place in range(len(ways))], [way.name for way in ways])
        axes.set_ylim(-len(ways) + 0.4, 0.6)
        axes.set_xlim(left=max(0.0, min(way.low for way in ways) - 0.05 * max(way.high for way in ways)))
        _quiet(axes, noun.many)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.grid(axis="x", color=COLOURS["line"], linewidth=1)

    return _both(draw, f"Chart: {said}.", height=90 + 34 * len(ways), left=150, right=24)


def _both(draw: "Callable[[Axes, Frame], None]", described: str, *, height: int, left: int = 44, right: int = 24) -> Html:
    frames = [replace(frame, height=height) for frame in FRAMES]
    drawn = [drawing(f, lambda axes, f=f: draw(axes, f), described, left=left, right=right) for f in frames]  # type: ignore[misc]
    return element("div", *drawn, class_="chart")


def _quiet(axes: "Axes", label: str) -> None:
    axes.set_axisbelow(True)
    axes.spines["bottom"].set_color(COLOURS["line"])
    axes.tick_params(length=0, pad=8, labelcolor=COLOURS["soft"])
    axes.set_xlabel(label, color=COLOURS["soft"], labelpad=6)
