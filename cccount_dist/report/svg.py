"""Drawings of a report: one pair of axes as SVG, in CSS pixels, in the page's own font and colours.

Colours are variables of the page's style, so a picture follows light and dark. Nothing is loaded for it: every step of a campaign
with new answers writes its report, and a library for charts would take as long as the rest of the step. The same data give the
same bytes. Time and memory: the points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cccount_dist.report.markup import Html, element

LEFT, RIGHT, ABOVE, BELOW = 44, 76, 14, 52  # pixels around the plot, for the labels
_LETTERS = 13  # pixels
_PAD = 8  # pixels between an axis and its numbers
_MIDDLE = 0.35 * _LETTERS  # from the middle of a letter to its foot

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """A drawing's size in CSS pixels, and which screens show it."""

    name: str
    width: int
    height: int
    ticks: int


FRAMES = (Frame("wide", 736, 330, 7), Frame("narrow", 344, 290, 4))


class Plot:
    """Axes from `x` and `y` to pixels, on which things are drawn one above the other. What leaves them is cut off."""

    def __init__(self, frame: Frame, x: Point, y: Point, *, left: int = LEFT, right: int = RIGHT) -> None:
        self.frame, self.x, self.y = frame, x, y
        self._box = left, frame.width - right, frame.height - BELOW, ABOVE
        self._drawn: list[Html] = []

    def across(self, value: float) -> float:
        """The pixel of a value of x."""
        left, right, _, _ = self._box
        return left + (value - self.x[0]) / (self.x[1] - self.x[0]) * (right - left)

    def up(self, value: float) -> float:
        """The pixel of a value of y."""
        _, _, bottom, top = self._box
        return bottom + (value - self.y[0]) / (self.y[1] - self.y[0]) * (top - bottom)

    @property
    def pixel(self) -> float:
        """How much of y is one pixel."""
        _, _, bottom, top = self._box
        return (self.y[1] - self.y[0]) / (bottom - top)

    def rows(self, places: Sequence[tuple[float, str]], *, grid: bool = True) -> None:
        """Name heights at the left, with a fine line across if `grid`."""
        left, right, _, _ = self._box
        for value, words in places:
            height = self.up(value)
            if grid:
                self._straight((left, height), (right, height), "line", 1.0)
            self._text(left - _PAD, height + _MIDDLE, words, "soft", "end")

    def columns(self, places: Sequence[tuple[float, str]], label: str, *, grid: bool = False) -> None:
        """Name places below, with a fine line upwards if `grid`, and say what they are."""
        left, right, bottom, top = self._box
        self._straight((left, bottom), (right, bottom), "line", 1.0)
        for value, words in places:
            place = self.across(value)
            if grid:
                self._straight((place, bottom), (place, top), "line", 1.0)
            self._text(place, bottom + _PAD + _LETTERS, words, "soft", "middle")
        self._text((left + right) / 2, bottom + _PAD + 2.6 * _LETTERS, label, "soft", "middle")

    def line(self, points: Sequence[Point], tone: str, width: float, dashes: str | None = None) -> None:
        for run in clipped(points, *self.y):
            path = " ".join(f"{_number(self.across(x))},{_number(self.up(y))}" for x, y in run)
            more = {"stroke": _colour(tone), "stroke_width": _number(width), "stroke_dasharray": dashes}
            self._drawn.append(element("polyline", points=path, fill="none", **more))

    def band(self, x: Sequence[float], low: Sequence[float], high: Sequence[float], tone: str) -> None:
        """What is between two curves."""
        cut = cut_band(list(zip(x, low, high, strict=True)), *self.y)
        around = [(place, above) for place, _, above in cut] + [(place, below) for place, below, _ in reversed(cut)]
        path = " ".join(f"{_number(self.across(place))},{_number(self.up(value))}" for place, value in around)
        self._drawn.append(element("polygon", points=path, fill=_colour(tone)))

    def bar(self, place: float, height: float, width: float, tone: str) -> None:
        left, right, top = self.across(place - width / 2), self.across(place + width / 2), self.up(height)
        size = {"width": _number(right - left), "height": _number(self.up(self.y[0]) - top)}
        self._drawn.append(element("rect", x=_number(left), y=_number(top), fill=_colour(tone), **size))

    def dot(self, x: float, y: float, tone: str, size: float) -> None:
        if self.y[0] <= y <= self.y[1]:
            centre = {"cx": _number(self.across(x)), "cy": _number(self.up(y))}
            self._drawn.append(element("circle", **centre, r=_number(size / 2), fill=_colour(tone)))

    def arrow(self, x: float, *, above: bool, tone: str, size: float = 7.0) -> None:
        """Say at the edge that something goes on beyond it."""
        place, edge = self.across(x), self.up(self.y[1 if above else 0])
        tip = -size / 2 if above else size / 2
        corners = ((place, edge + tip), (place - size / 2, edge - tip), (place + size / 2, edge - tip))
        path = " ".join(f"{_number(one)},{_number(other)}" for one, other in corners)
        self._drawn.append(element("polygon", points=path, fill=_colour(tone)))

    def at_the_end(self, height: float, words: str, tone: str, *, bold: bool = False) -> None:
        """Name a line at its right end, where the eye arrives."""
        self._text(self._box[1] + 6, self.up(height) + _MIDDLE, words, tone, "start", bold=bold)

    def html(self, described: str) -> Html:
        """The drawing; `described` is what a screen reader says instead of it."""
        width, height = str(self.frame.width), str(self.frame.height)
        size = {"viewBox": f"0 0 {width} {height}", "width": width, "height": height}
        return element("svg", element("title", described), *self._drawn, role="img", class_=self.frame.name, **size)

    def _straight(self, start: Point, end: Point, tone: str, width: float) -> None:
        ends = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
        numbers = {name: _number(value) for name, value in ends.items()}
        self._drawn.append(element("line", **numbers, stroke=_colour(tone), stroke_width=_number(width)))

    def _text(self, x: float, y: float, words: str, tone: str, anchor: str, *, bold: bool = False) -> None:
        style = {"font_size": str(_LETTERS), "font_weight": "bold" if bold else None, "text_anchor": anchor}
        self._drawn.append(element("text", words, x=_number(x), y=_number(y), fill=_colour(tone), **style))


def ticks(low: float, high: float, most: int, *, whole: bool = True) -> list[tuple[float, str]]:
    """Return round numbers from low to high, at most `most` steps of 1, 2 or 5 times a power of ten apart, and their words.

    >>> ticks(0, 2800, 6), ticks(0.1, 0.9, 4, whole=False)
    ([(0.0, '0'), (500.0, '500'), (1000.0, '1,000'), (1500.0, '1,500'), (2000.0, '2,000'), (2500.0, '2,500')], \
[(0.2, '0.2'), (0.4, '0.4'), (0.6, '0.6'), (0.8, '0.8')])
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough * (1 - 1e-9))
    step = max(1.0, step) if whole else step
    found = [round(number * step, 12) for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    return [(value, f"{value:,.0f}" if whole else f"{value:,.10g}") for value in found]


def clipped(points: Sequence[Point], bottom: float, top: float) -> list[list[Point]]:
    """Return the pieces of a line that are between two heights.

    >>> clipped([(0, 0), (2, 4), (3, 4), (4, 0)], -1, 2)
    [[(0, 0), (1.0, 2.0)], [(3.5, 2.0), (4, 0)]]
    """
    runs: list[list[Point]] = []
    for one, other in pairwise(points):
        first, last = _between(one[1], other[1], bottom, top)
        if first >= last:
            continue
        start, end = _along(one, other, first), _along(one, other, last)
        if runs and runs[-1][-1] == start:
            runs[-1].append(end)
        else:
            runs.append([start, end])
    return runs


def cut_band(rows: Sequence[tuple[float, float, float]], bottom: float, top: float) -> list[tuple[float, float, float]]:
    """Return (x, low, high) within two heights, with a corner wherever a curve meets one of them.

    >>> cut_band([(0, 0, 4), (2, 0, 2)], 0, 3)
    [(0, 0, 3), (1.0, 0.0, 3.0), (2, 0, 2)]
    """
    found = []
    for one, other in pairwise(rows):
        places = {0.0}
        for here, there in zip(one[1:], other[1:], strict=True):
            places |= {(edge - here) / (there - here) for edge in (bottom, top) if (here - edge) * (there - edge) < 0}
        for place in sorted(places):
            x, low, high = (a if not place else a + place * (b - a) for a, b in zip(one, other, strict=True))
            found.append((x, min(max(low, bottom), top), min(max(high, bottom), top)))
    x, low, high = rows[-1]
    return [*found, (x, min(max(low, bottom), top), min(max(high, bottom), top))]


def _between(start: float, end: float, bottom: float, top: float) -> tuple[float, float]:
    """From which to which share of the way one is between two heights; the first is not the smaller one if nowhere."""
    if start == end:
        return (0.0, 1.0) if bottom <= start <= top else (1.0, 0.0)
    meets = sorted(((bottom - start) / (end - start), (top - start) / (end - start)))
    return max(0.0, meets[0]), min(1.0, meets[1])


def _along(one: Point, other: Point, share: float) -> Point:
    if share in (0.0, 1.0):
        return other if share else one
    return one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])


def _colour(tone: str) -> str:
    return f"var(--{tone})"


def _number(value: float) -> str:
    """
    >>> _number(3.0), _number(2.25), _number(-0.001)
    ('3', '2.25', '0')
    """
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


__all__ = ["FRAMES", "Frame", "Plot", "clipped", "cut_band", "ticks"]
