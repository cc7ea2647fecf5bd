"""What commands take: measured, and projected at most twice as much; what cannot be had is refused, and nothing is written."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cccount_dist.room import VARIABLE, Size, gibibytes
from cccount_dist.taken import TAKEN, require, size_of
from storage.counted import parquet_rows
from storage.errors import ComputeError
from storage.workspace import Workspace
from tests.flows.conftest import cccount, files_of, here, labels, prepared, workspace
from tests.measured import Made, Watched, peak_of

__all__ = ["labels", "prepared", "workspace"]

SCRATCH = 64 * 2**20  # what does not grow is said generously: compiled kernels of a first run are in it
LARGE = Size(10_000_000, 1_280, 50, 100, 1_000_000)
SLOW = ("relocate", "baselines", "cluster --method catalogue", "report of a cluster", "individuals", "export csv", "export coco")
# `python -m tests.measured` measures those, too


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Watched]:
    return {one.what: one for one in Made(tmp_path_factory.mktemp("few"), 1_000, 32, 100).commands()}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Watched, int]]:
    made = Made(tmp_path_factory.mktemp("made"), 20_000, 256, 2_000)
    return {one.what: (one, peak_of(*one.arguments)) for one in made.commands() if one.what not in SLOW}


@pytest.mark.parametrize("what", ["init --embeddings", "count --method placing"])
def test_what_commands_load_is_projected_too(what: str, few: dict[str, Watched]) -> None:
    """The short form: on a small collection what a command takes is mostly what it imports, and that grows unnoticed."""
    assert peak_of(*few[what].arguments) <= few[what].projected


@pytest.mark.timeout(1800)
@pytest.mark.skipif("CCCOUNT_TAKEN" not in os.environ, reason="the long form: `make memory`, alone on a Linux machine")
def test_every_command_takes_what_is_projected_and_at_least_half_of_it(measured: dict[str, tuple[Watched, int]]) -> None:
    found = {what: (taken / 2**20, one.projected / 2**20) for what, (one, taken) in measured.items()}
    assert len(found) > 15
    assert {what: both for what, both in found.items() if not both[0] <= both[1]} == {}
    assert {what: both for what, both in found.items() if not both[1] <= 2 * both[0] + SCRATCH / 2**20} == {}


@pytest.mark.parametrize("command", TAKEN)
def test_what_is_said_to_fit_fits(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = TAKEN[command].bytes(LARGE)
    monkeypatch.setenv(VARIABLE, str(needed - TAKEN[command].item * LARGE.items // 2))
    with pytest.raises(
        ComputeError, match=f"^{command} on 10,000,000 items of 1,280 dimensions with 1,000,000 answers"
    ) as refused:
        require(command, LARGE)
    said = str(refused.value)
    assert f"needs about {gibibytes(needed)} of memory, and " in said
    assert TAKEN[command].instead in said
    fits = int(said.partition("can be had here: about ")[2].split()[0].replace(",", ""))
    assert 4_000_000 < fits < 10_000_000
    require(command, Size(fits, 1_280, 50, 100, 1_000_000))


@pytest.mark.parametrize("line", TAKEN)
def test_more_never_takes_less(line: str) -> None:
    taken = TAKEN[line]
    small, large = Size(1_000, 128, 10), Size(300_000, 1_280, 50, answers=10_000)
    assert taken.least < taken.bytes(small) < taken.bytes(large)


COMMANDS = [
    ["extend", "WS", "--embeddings", "more.npy", "--prefix", "b/"],
    ["extend", "WS", "--manifest", "images/rows.csv"],
    ["bursts", "WS", "new"],
    ["embed", "WS", "--components", "8", "--workers", "1"],
    ["neighbors", "WS", "--k", "5", "--workers", "1"],
    ["count", "WS", "--campaign", "other", "--oracle", "labels"],
    ["cluster", "WS", "--oracle", "labels"],
    ["subcluster", "WS", "--campaign", "more", "--clusters", "4", "--size", "3", "--oracle", "labels"],
    ["advance", "WS", "--campaign", "count"],
    ["status", "WS"],
    ["report", "WS"],
    ["browse", "WS"],
    ["baselines", "WS"],
    ["verify", "WS"],
    ["relocate", "WS", "--images", "images"],
    ["answers", "export", "WS", "--campaign", "count", "--file", "out.csv"],
    ["answers", "import", "WS", "--campaign", "count", "--file", "in.csv"],
    ["gold", "import", "WS", "--file", "in.csv"],
    ["pack", "WS", "--campaign", "count", "--file", "pack.html"],
    ["review", "WS", "--port", "0"],
    ["individuals", "WS", "--file", "out.csv"],
    ["individuals", "name", "WS", "0", "Luna"],
    ["export", "WS", "--format", "csv", "--to", "out"],
    ["catalogue", "import", "WS", "--file", "known.csv"],
    ["facts", "list", "WS"],
    ["facts", "boxes", "WS"],
    ["facts", "encounters", "WS", "--file", "known.csv"],
    ["facts", "cameras", "WS", "--file", "known.csv"],
    ["facts", "deaths", "WS", "--file", "known.csv"],
    ["facts", "speed", "WS", "--speed", "10"],
    ["init", "new", "--images", "images"],
    ["init", "new", "--manifest", "images/rows.csv"],
    ["init", "new", "--manifest", "images/rows.jsonl"],
    ["init", "new", "--manifest", "images/coco.json"],
    ["init", "new", "--embeddings", "more.npy"],
]


def test_every_command_that_cannot_have_its_memory_says_so_in_one_line_and_writes_nothing(
    workspace: Path, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    (given / "images").mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (8, 8), (number, 0, 0)).save(given / f"images/{number}.png")
    (given / "images/rows.csv").write_text("path\n0.png\n1.png\n2.png\n")
    (given / "images/rows.jsonl").write_text('{"path": "0.png"}\n{"path": "1.png"}\n')
    (given / "images/coco.json").write_text('{"images": [], "annotations": []}' + " " * 200_000)
    (given / "in.csv").write_text("question_id,value\n0,same\n")
    (given / "known.csv").write_text("id,name\n0,Luna\n")
    np.save(given / "more.npy", np.zeros((4, 64), np.float32))
    assert cccount("count", workspace, "--oracle", "labels", "--budget", "5").code == 0
    few = ["--oracle", "labels", "--budget", "5"]
    assert cccount("subcluster", workspace, "--campaign", "subcluster", "--clusters", "4", "--size", "3", *few).code == 0
    before = files_of(workspace), files_of(given)
    for command in COMMANDS:
        arguments = [str(workspace) if one == "WS" else one for one in command]
        shown = here(*arguments, cwd=given, variables={VARIABLE: "1MiB"})
        assert shown.code == 1, (command, shown.out, shown.err)
        said = [line for line in shown.err.splitlines() if not line.startswith("Campaign")]  # an epoch
        assert len(said) == 1, shown.err
        assert "of memory, and 1 MiB can be had here: " in shown.err, (command, shown.err)
        assert f"({VARIABLE}=64GiB says how much may be taken)" in shown.err
        assert (files_of(workspace), files_of(given)) == before, command


def test_sizes_are_read_off_the_ends_of_files(workspace: Path) -> None:
    assert cccount("count", workspace, "--oracle", "labels", "--budget", "40").code == 0
    opened = Workspace.open(workspace)
    found = size_of(opened)
    assert (found.items, found.dimensions, found.neighbors) == (480, 64, 10)
    assert found.answers >= 40
    assert size_of(opened, "nobody").answers == 0
    collection = workspace / "collection.parquet"
    for damaged in (b"", b"PAR1", collection.read_bytes()[:-3], b"x" * 5000 + b"\xff\xff\xff\x7fPAR1"):
        collection.write_bytes(damaged)
        assert parquet_rows(opened.objects, "collection.parquet") == 0
