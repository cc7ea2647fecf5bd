"""What an experiment is: its cases, what is measured of one, and how the results are shown, as a table and as plots."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

Value = str | int | float | bool
Case = Mapping[str, Value]
Row = dict[str, float]
Done = Sequence[tuple[Case, Row]]
Points = Sequence[tuple[float, float]]


class Cases(Protocol):
    """What is measured."""

    def __call__(self, *, full: bool) -> list[dict[str, Value]]:
        """Return the cases of the quick form, or of the full one."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    curves : by name, points (x, y) in the order of x
    printed : the paper's, drawn as dashed lines, where it prints numbers
    diagonal : draw y = x, what a calibrated probability would give
    """

    title: str
    x: str
    y: str
    curves: Mapping[str, Points]
    printed: Mapping[str, Points] = field(default_factory=dict)
    diagonal: bool = False
    logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Dots:
    """Named values on one line each; `printed` are the paper's for the same names."""

    title: str
    x: str
    values: Mapping[str, float]
    printed: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of a paper.

    name : what is typed
    of : paper, and which figure or table
    cases : what is measured, in the quick form and in the full one
    measure : one case, from the folder of data
    table : markdown of everything that was measured
    panels : the same as plots
    """

    name: str
    of: str
    cases: Cases
    measure: Callable[[Path, Case], Row]
    table: Callable[[Done], list[str]]
    panels: Callable[[Done], list[Panel | Dots]]


def means(done: Done, by: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return a markdown table: a row for each value of `by`, with the mean of each column and how many runs it is of."""
    groups: dict[tuple[Value, ...], list[Row]] = {}
    for case, row in done:
        groups.setdefault(tuple(case[name] for name in by), []).append(row)
    head = [*by, "runs", *columns]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for key, rows in groups.items():
        cells = []
        for name in columns:
            values = [row[name] for row in rows if name in row]
            cells.append(f"{sum(values) / len(values):.4g}" if values else "")
        lines.append(f"| {' | '.join(map(str, key))} | {len(rows)} | {' | '.join(cells)} |")
    return lines


def by(done: Done, name: str) -> dict[str, list[tuple[Case, Row]]]:
    """Return what was measured apart for each value of a key of the cases, in the order in which they come."""
    found: dict[str, list[tuple[Case, Row]]] = {}
    for case, row in done:
        found.setdefault(str(case[name]), []).append((case, row))
    return found


def curves_of(done: Done, name: Callable[[Case], str], points: Callable[[Case, Row], Points]) -> dict[str, Points]:
    """Return for each name the mean of y at every x."""
    found: dict[str, dict[float, list[float]]] = {}
    for case, row in done:
        for x, y in points(case, row):
            found.setdefault(name(case), {}).setdefault(x, []).append(y)
    return {one: [(x, sum(ys) / len(ys)) for x, ys in sorted(places.items())] for one, places in found.items()}


def point(over: str, column: str) -> Callable[[Case, Row], Points]:
    """Return what gives a case's point: a key of it across, and a column up."""
    return lambda case, row: [(float(case[over]), row[column])]


def values_of(done: Done, name: Callable[[Case], str], column: str) -> dict[str, float]:
    """Return for each name the mean of a column."""
    found = curves_of(done, name, lambda _, row: [(0.0, row[column])] if column in row else [])
    return {one: points[0][1] for one, points in found.items()}
