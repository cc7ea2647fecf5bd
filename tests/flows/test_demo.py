"""The demo: it really is killed in the middle, goes on, and ends with a report; and it never removes what is not its own."""

import json
from pathlib import Path

import pytest
from PIL import Image

from cccount_dist.campaign.noun import whole
from flows.commands.demonstration import BUDGET, demo, write_digits
from handbook.blocks import DOCS, blocks
from storage.errors import InputError
from tests.cccount_dist.report.reading import check
from tests.flows.conftest import cccount

README = DOCS.parent / "README.md"


def test_the_demo_is_killed_goes_on_and_leaves_a_report(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    shown = cccount("demo", "--directory", "demo", "--json", cwd=tmp_path, fresh=True)
    assert shown.code == 0, shown.err
    found = json.loads(shown.out)
    assert found["interrupted"] is True
    assert 0 < found["answers_at_kill"] < BUDGET
    assert f"Killed with SIGKILL after {found['answers_at_kill']:,} of {BUDGET:,} answers." in shown.err
    assert found["truth"] == 10
    assert found["low"] <= found["truth"] <= found["high"]  # everything is seeded: this holds each time or never
    page = check((tmp_path / found["report"]).read_text())
    assert f"About {whole(found['estimate'])} digits" in page.text
    assert "which lies inside the interval" in page.text
    assert len(page.all("img")) == 96 + 10  # of pairs, and of the ten that were seen
    assert shown.err.count("$ cccount run demo/job.toml") == 2
    assert "$ cccount status demo/workspace" in shown.err
    for stage in ("embed: done", "neighbors: done", "embed: skipped", "neighbors: skipped", "count: resumed", "report: done"):
        assert f"\n{stage}" in shown.err
    standing = cccount("status", "demo/workspace", "--json", cwd=tmp_path).json["campaigns"][0]
    assert standing["state"] == "done"
    assert standing["questions"] == BUDGET
    (shown_in_readme,) = (block for block in blocks(README) if block.language == "console")
    said = cccount("count", "demo/workspace", "--budget", str(BUDGET), "--oracle", "labels", cwd=tmp_path).out
    assert said.startswith(shown_in_readme.text.partition("\n")[2])


def test_file_names_do_not_give_the_digits_away(tmp_path: Path) -> None:
    assert write_digits(tmp_path / "images", tmp_path / "labels.csv") == 10
    rows = [row.split(",") for row in (tmp_path / "labels.csv").read_text().splitlines()[1:]]
    assert [name for name, _ in rows] == sorted(path.name for path in (tmp_path / "images").iterdir())
    agreeing = sum(int(name[5:9]) % 10 == int(label) for name, label in rows)
    # As many as by chance: 0.1 n, with a standard error of sqrt(0.09 n) = 13.
    assert abs(agreeing - 179.7) < 4 * 13
    with Image.open(tmp_path / "images/scan-0000.png") as image:
        assert image.size == (32, 32)


def test_a_folder_that_is_no_demo_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="is no earlier demo: choose another folder"):
        demo(str(tmp_path))
    with pytest.raises(InputError, match="is not a folder"):
        demo(str(tmp_path / "thesis.txt"))
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="is not a folder"):
        demo(str(tmp_path / "link"))
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
