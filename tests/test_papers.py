"""docs/evidence/papers.md says only what is there: every file, function and test exists, and every command is a real one."""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from benchmarks.papers.__main__ import EXPERIMENTS
from benchmarks.papers.apc import fission
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.jobs import run, stored
from benchmarks.papers.pictures import draw
from cccount_dist.report.wording import said_price
from cccount_dist.sampling.methods import METHODS, PAPER
from flows.commands.cli import make_app

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/evidence/papers.md").read_text()
HEAD = ["in the paper", "file and function", "test", "command", "printed", "ours"]
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| in the paper")
]


def _named(cell: str) -> tuple[Path, str]:
    found = re.fullmatch(r"`([\w/.-]+)::(\w+)`", cell)
    assert found, f"write `file::name`, not {cell}"
    return ROOT / found[1], found[2]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:60])
def test_every_row_names_a_file_a_test_and_a_command_that_exist(row: list[str]) -> None:
    assert len(row) == len(HEAD)
    for cell in row[1:3]:
        path, name = _named(cell)
        assert path.exists(), cell
        assert re.search(rf"^(?:def|class) {name}\b|^{name}\b", path.read_text(), re.MULTILINE), cell
    _check_command(row[3].strip("`"))
    assert row[4]
    assert row[5]
    assert "{" not in row[5]


def _check_command(text: str) -> None:
    words = shlex.split(text)
    if words[0] == "python":  # one program starts every benchmark of the page
        assert words[:3] == ["python", "-m", "benchmarks.papers"], text
        assert words[3:] == ["--list"] or (words[3] == "--only" and {*words[4:]} <= {*EXPERIMENTS}), text
        return
    assert words[0] == "cccount"
    command: Any = _commands()[words[1]]
    arguments = words[2:]
    if hasattr(command, "commands"):
        command, arguments = command.commands[words[2]], words[3:]
    given = command.make_context(words[1], arguments).params  # an option that is not there is refused here
    _check_method(words[1], given, text)


@cache
def _commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(make_app())
    found: dict[str, Any] = group.commands
    return found


def _check_method(kind: str, given: dict[str, object], text: str) -> None:
    """A method, preset or parameter that is named must be one of that kind's."""
    known = {one.name: one for one in METHODS if one.kind == kind}
    method = known.get(str(given.get("method"))) or (known.get("active") if kind == "subcluster" else None)
    assert method or not given.get("method"), text
    if method is not None:
        from cccount_dist.options import named_values

        said = named_values([str(one) for one in given.get("parameter") or ()])  # type: ignore[attr-defined]
        method.read(method.preset(given.get("preset"), said) | said)  # type: ignore[arg-type]


def test_the_page_has_a_table_for_each_paper_and_a_row_for_every_preset() -> None:
    assert PAGE.count("| in the paper | file and function | test | command | printed | ours |") == 5
    for method in METHODS:
        for preset in method.presets:
            if method.name in ("nis", "nested-mc", "apc", "hacc", "active"):
                assert f"--preset {preset}" in PAGE, (method.name, preset)
    assert len(ROWS) > 60


# Which slow transcription each preset is tested against.
TRANSCRIBED = {
    ("nis", "paper"): "test_nis_printed.py::test_the_preset_is_algorithm_1_with_equations_6_7_10_and_11",
    ("nested-mc", "paper"): "test_nis_printed.py::test_nested_mc_is_equations_3_and_4",
    ("apc", "paper"): "test_apc_printed.py::test_the_preset_alone_asks_so_too_with_the_level_of_appendix_c1_and_k_at_the_elbow",
    ("hacc", "paper"): "test_hacc_printed.py::test_the_preset_asks_what_algorithm_1_asks_and_groups_as_it_does",
    ("hacc", "paper-h2"): "test_hacc_printed.py::test_the_preset_asks_what_algorithm_1_asks_and_groups_as_it_does",
    ("active", "paper"): "test_subclustering_printed.py::test_the_preset_asks_what_algorithm_1_asks_and_ends_where_it_does",
    ("active", "paper-threshold"): (
        "test_subclustering_printed.py::test_the_preset_asks_what_algorithm_1_asks_and_ends_where_it_does"
    ),
    **{(name, preset): f"test_iu_red_printed.py::{test}" for name in ("iu-red", "iu-red-pure", "s-and-t", "s-and-t-pure")
       for preset, test in (("paper", "test_the_preset_measures_what_the_algorithm_measures"),
                            ("paper-noisy", "test_repeats_are_chosen_as_section_5_says"),
                            ("paper-median", "test_the_median_of_three_is_always_taken_where_that_is_wanted"))},
    **{("random-ratings", preset): "test_iu_red_printed.py::test_random_ratings_draws_among_the_pairs_that_are_left"
       for preset in ("paper", "paper-noisy", "paper-median")},
}  # fmt: skip


def test_every_preset_is_tested_against_a_transcription() -> None:
    assert {(method.name, preset) for method in METHODS for preset in method.presets} == set(TRANSCRIBED)
    for cell in TRANSCRIBED.values():
        file, name = cell.split("::")
        assert f"def {name}(" in (ROOT / "tests/cccount_dist/papers" / file).read_text(), cell


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_every_experiment_has_cases_and_tables(experiment: Experiment, tmp_path: Path) -> None:
    quick, full = experiment.cases(full=False), experiment.cases(full=True)
    assert 0 < len(quick) <= len(full)
    keys = [tuple(sorted(case.items())) for case in full]
    assert len(set(keys)) == len(keys)
    assert stored(experiment, tmp_path, full=False) == []
    assert f"--only {experiment.name}`" in PAGE


def test_what_was_measured_is_not_measured_again_and_a_torn_line_is(tmp_path: Path) -> None:
    counted: list[int] = []

    def measure(_: Path, case: object) -> dict[str, float]:
        counted.append(1)
        return {"value": float(case["n"])}  # type: ignore[index]

    def cases(*, full: bool) -> list[dict[str, str | int | float | bool]]:
        return [{"n": number} for number in range(4 if full else 2)]

    one = Experiment("toy", "a toy", cases, measure, lambda done: [str(len(done))], lambda _: [])
    assert [row["value"] for _, row in run(one, tmp_path, tmp_path, full=False, client=None)] == [0.0, 1.0]
    with (tmp_path / "toy.jsonl").open("a") as file:
        file.write('{"case": {"n": 2}, "row": {"val')
    assert [row["value"] for _, row in run(one, tmp_path, tmp_path, full=True, client=None)] == [0.0, 1.0, 2.0, 3.0]
    assert len(counted) == 4


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_every_experiment_is_drawn_and_the_same_bytes_each_time(experiment: Experiment, tmp_path: Path) -> None:
    cases = experiment.cases(full=False)
    done = [(case, _Anything(place)) for place, case in enumerate(cases)]
    panels = experiment.panels(done)
    assert panels
    draw(panels, experiment.of, tmp_path / "one.svg")
    draw(experiment.panels(done), experiment.of, tmp_path / "two.svg")
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "two.svg").read_bytes()
    assert panels[0].title.encode() in drawn


class _Anything(dict[str, float]):
    """A row in which every column has some value."""

    def __init__(self, place: int) -> None:
        super().__init__({f"accuracy, {place}": 0.5})
        self._value = 1.0 + place % 7

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> float:
        return self._value


def test_fission_leaves_single_items_out() -> None:
    assert fission(np.array([0, 0, 1, 1, 2, 3]), 2) == 1.0


def test_a_price_is_said_as_the_paper_has_it() -> None:
    assert said_price(143_000, 0.0025) == "At 0.0025 a question that is 357.50."


def test_the_page_the_citation_and_the_readme_name_each_paper_with_its_address() -> None:
    cited, page, readme = (ROOT / "CITATION.cff").read_text(), " ".join(PAGE.split()), (ROOT / "README.md").read_text()
    for title, author, year, address in (
        ("Similarity-Driven Nested Importance Sampling", "Perez", 2023, "arxiv.org/abs/2312.05287"),
        ("Active Probabilistic Clustering", "nonymous authors", 2023, "openreview.net/forum?id=utESCpnVBN"),
        ("Seeking Constraints", "Biswas", 2012, "10.1109/CVPR.2012.6247922"),
        ("Active subclustering", "Biswas", 2014, "10.1016/j.cviu.2014.03.008"),
        ("Iterative Uncertainty Reduction", "Wauthier", 2012, "10.1145/2339530.2339737"),
    ):
        for text in (cited, page):
            assert title in text
            assert author in text
            assert str(year) in text
            assert address in text, address
        assert address in readme, address


def test_the_readme_says_in_three_lines_whose_each_method_is() -> None:
    section = (ROOT / "README.md").read_text().partition("## Methods, and whose they are\n")[2].partition("\n## ")[0]
    printed, compared, ours = (line for line in section.splitlines() if line.startswith("- **"))
    assert "(`--preset paper`)" in printed
    for method in METHODS:
        where = ours if method.paper is None else printed if PAPER in method.presets else compared
        for line in (printed, compared, ours):
            assert (f"`{method.name}`" in line) == (line is where), (method.name, line)
