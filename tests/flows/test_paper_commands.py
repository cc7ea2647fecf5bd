"""Every command of docs/evidence/papers.md runs: `cccount` as it stands there but for a campaign name, a benchmark with one case.

The short form runs one command of each kind (`test_papers` parses all of them), `make papers` every one.
"""

import os
import shlex
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from benchmarks.papers.__main__ import EXPERIMENTS, main
from tests.flows.conftest import cccount
from tests.test_papers import ROWS

ALL = [text for text in dict.fromkeys(row[3].strip("`") for row in ROWS) if text.startswith("cccount")]
SHORT = (
    "cccount count census --method nis --preset paper", "cccount cluster census --method apc --preset paper",
    "cccount cluster census --method hacc --preset paper --clusters 10", "cccount subcluster census --clusters 24 --preset paper",
    "cccount cluster photos --method iu-red-pure --preset paper", "cccount baselines census",
)  # fmt: skip
QUICK = ("iu-red-step", "hacc-calibration")
COMMANDS = ALL if "CCCOUNT_PAPERS" in os.environ else SHORT
ITEMS = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Workspaces `census` and `photos`, with labels, as the page names them."""
    place = tmp_path_factory.mktemp("papers")
    x, y = load_digits(return_X_y=True)
    np.savez(place / "digits.npz", x=x[:ITEMS].astype(np.float32), y=y[:ITEMS])
    for name in ("census", "photos"):
        for words in (["init", name, "--embeddings", "digits.npz"], ["neighbors", name, "--k", "10", "--workers", "1"]):
            done = cccount(*words, cwd=place)
            assert done.code == 0, done.err
    return place


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_of_the_page_runs(folder: Path, text: str) -> None:
    words = shlex.split(text)[1:]
    if words[0] in ("count", "cluster", "subcluster"):
        words += ["--campaign", f"row{ALL.index(text)}"]
    if words[0] == "benchmark":
        words += ["--runs", "1", "--efforts", "0.1", "--results", "runs"]
    done = cccount(*words, cwd=folder)
    assert done.code == 0, done.err


@pytest.mark.parametrize("name", EXPERIMENTS if "CCCOUNT_PAPERS" in os.environ else QUICK)
def test_a_benchmark_of_the_page_measures_a_case_and_writes_its_table_and_plot(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(
        [
            "--only",
            name,
            "--cases",
            "1",
            "--data",
            os.environ.get("CCCOUNT_PAPERS_DATA", str(tmp_path)),
            "--results",
            str(tmp_path),
        ]
    )
    table = (tmp_path / f"{name}.md").read_text()
    assert table in capsys.readouterr().out
    if "Nothing was measured" not in table:  # its data are in no package: `make papers DATA=FOLDER`
        assert len((tmp_path / f"{name}.jsonl").read_text().split()) > 1
        assert (tmp_path / f"{name}.svg").exists()
    else:
        assert name not in QUICK
