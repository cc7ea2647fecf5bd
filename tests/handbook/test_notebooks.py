"""The notebooks run from the first cell to the last, without a warning."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from handbook.blocks import DOCS
from tests.flows.conftest import environment

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))
BEFORE = "import matplotlib\nmatplotlib.use('Agg')\n"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_above_to_below(notebook: Path, tmp_path: Path) -> None:
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] for cell in cells), "clear the outputs before a commit"
    program = tmp_path / "notebook.py"
    program.write_text(BEFORE + "\n\n".join("".join(cell["source"]) for cell in cells))
    bin_first = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "TMPDIR": str(tmp_path), "MPLCONFIGDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(program)], cwd=tmp_path, env=environment(**bin_first),
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
