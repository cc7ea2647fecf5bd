"""Two more pictures of a count: how large the clusters are that were seen, and what each way to count says.

Both are drawn for wide screens and for phones, as `chart.py` does it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from cccount_dist.campaign.noun import CLUSTER, Noun, whole
from cccount_dist.report.facts import Way
from cccount_dist.report.markup import Html, element
from cccount_dist.report.svg import FRAMES, Frame, Plot, ticks
from cccount_dist.report.wording import ends

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

    def draw(frame: Frame) -> Plot:
        high = max(count for _, count in bars) * 1.08
        plot = Plot(frame, (-0.6, len(bars) - 0.4), (0.0, high), right=24)
        plot.rows(ticks(0.0, high, 4))
        shown = [(float(place), name) for place, (name, _) in enumerate(bars) if frame.width > 500 or not place % 2]
        plot.columns(shown, f"items drawn of one {noun.one}")
        for place, (_, count) in enumerate(bars):
            plot.bar(place, count, 0.72, "accent")
        return plot

    return _both(draw, described, height=240)


def way_chart(ways: Sequence[Way], noun: Noun = CLUSTER) -> Html:
    """One line for each way: its interval, and its estimate as a dot."""
    said = "; ".join(f"{way.name} {whole(way.estimate):,}, {' to '.join(ends(way.low, way.high))}" for way in ways)

    def draw(frame: Frame) -> Plot:
        least, most = min(way.low for way in ways), max(max(way.high, way.estimate) for way in ways)
        start = max(0.0, least - 0.05 * most)
        end = most + 0.05 * (most - least) or 1.0
        plot = Plot(frame, (start, max(end, start + 1.0)), (-len(ways) + 0.4, 0.6), left=150, right=24)
        plot.rows([(-float(place), way.name) for place, way in enumerate(ways)], grid=False)
        plot.columns(ticks(*plot.x, 5), noun.many, grid=True)
        for place, way in enumerate(ways):
            tone, width = ("soft", 3.0) if place else ("accent", 5.0)
            plot.line([(way.low, -place), (way.high, -place)], tone, width)
            plot.dot(way.estimate, -place, "ink", 7.0)
        return plot

    return _both(draw, f"Chart: {said}.", height=90 + 34 * len(ways))


def _both(draw: Callable[[Frame], Plot], described: str, *, height: int) -> Html:
    return element("div", *(draw(replace(frame, height=height)).html(described) for frame in FRAMES), class_="chart")
