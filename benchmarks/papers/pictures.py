"""Plots of what was measured: panels in rows, curves or dots, the printed values beside ours. SVG, the same bytes each time.

Needs matplotlib (extra `benchmarks`). Time and memory: the points.
"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.papers.experiment import Dots, Panel

_ACROSS = 3  # panels side by side
_MARKS = "os^Dv<>PX*"


def draw(panels: Sequence[Panel | Dots], title: str, file: Path) -> None:
    """Write an SVG with all panels."""
    rows = -(-len(panels) // _ACROSS)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "cccount", "font.size": 8, "axes.titlesize": 8}):
        figure = Figure(figsize=(4.2 * min(_ACROSS, len(panels)), 3.4 * rows), layout="constrained")
        figure.suptitle(title, fontsize=9)
        grid = figure.subplots(rows, min(_ACROSS, len(panels)), squeeze=False).ravel()
        named: list[str] = []
        for axes, panel in zip(grid, panels, strict=False):
            if isinstance(panel, Dots):
                _draw_dots(axes, panel)
                continue
            _draw_panel(axes, panel)
            names = [*panel.curves, *panel.printed]  # none yet, while its cases are not measured
            if names and names != named:  # the same names need one legend
                axes.legend(fontsize=6)
            named = names
        for axes in grid[len(panels) :]:
            axes.set_visible(False)
        figure.savefig(file, metadata={"Date": None})


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for (name, points), mark in zip(panel.curves.items(), _MARKS * len(panel.curves), strict=False):
        x, y = zip(*points, strict=True)
        axes.plot(x, y, marker=mark, markersize=3, linewidth=1, label=name)
    for name, points in panel.printed.items():
        x, y = zip(*points, strict=True)
        axes.plot(x, y, linestyle="--", marker="x", markersize=4, color="black", linewidth=0.8, label=name)
    if panel.diagonal:
        axes.plot([0, 1], [0, 1], color="grey", linewidth=0.6)
    if panel.logarithmic:
        axes.set_xscale("log")
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    axes.grid(visible=True, linewidth=0.3)


def _draw_dots(axes: Axes, dots: Dots) -> None:
    names = list(dots.values)[::-1]
    axes.plot([dots.values[name] for name in names], range(len(names)), "o", markersize=4, label="ours")
    told = [(dots.printed[name], place) for place, name in enumerate(names) if name in dots.printed]
    if told:
        axes.plot(*zip(*told, strict=True), "x", color="black", markersize=5, label="printed")
        axes.legend(fontsize=6)
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set(title=dots.title, xlabel=dots.x)
    axes.grid(visible=True, linewidth=0.3)
