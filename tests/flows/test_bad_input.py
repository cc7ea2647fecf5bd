"""Bad input through the command line: one clear line, the documented exit code, and nothing half-written."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.flows.conftest import Shown, cccount, digits, environment, here


def refused(shown: Shown, *words: str) -> None:
    assert shown.code == 1, (shown.code, shown.out, shown.err)
    assert shown.out == ""
    assert "Traceback" not in shown.err
    assert shown.line.startswith("cccount: ")
    for word in words:
        assert word in shown.line


def images(folder: Path, count: int) -> Path:
    folder.mkdir()
    random = np.random.default_rng(0)
    for i in range(count):
        Image.fromarray(random.integers(0, 255, (24, 24, 3), dtype=np.uint8)).save(folder / f"{i}.png")
    return folder


def test_no_source_and_two_sources(tmp_path: Path) -> None:
    refused(here("init", tmp_path / "ws"), "exactly one of")
    refused(here("init", tmp_path / "ws", "--images", "a", "--embeddings", "b"), "exactly one of")
    assert not (tmp_path / "ws").exists()


def test_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    refused(here("init", tmp_path / "ws", "--images", tmp_path / "photos"), "photos")
    assert not (tmp_path / "ws").exists()


def test_one_image(tmp_path: Path) -> None:
    refused(here("init", tmp_path / "ws", "--images", images(tmp_path / "photos", 1)), "one item")
    assert not (tmp_path / "ws").exists()


def test_an_unreadable_image_is_left_out_and_said(tmp_path: Path) -> None:
    photos = images(tmp_path / "photos", 5)
    (photos / "broken.png").write_bytes(b"not a picture")
    assert cccount("init", tmp_path / "ws", "--images", photos).code == 0
    shown = cccount("embed", tmp_path / "ws", "--encoder", "pixels", "--workers", "1", "--json")
    assert shown.code == 0, shown.err
    assert [failure["id"] for failure in shown.json["failed"]] == ["broken.png"]
    assert cccount("neighbors", tmp_path / "ws", "--k", "2", "--workers", "1").code == 0
    shown = cccount("count", tmp_path / "ws", "--budget", "0", "--json")
    assert shown.json["high"] == 5.0


def test_nan_and_zero_vectors(tmp_path: Path) -> None:
    x = digits()[0][:40]
    x[3] = np.nan
    x[7] = 0.0
    np.save(tmp_path / "x.npy", x)
    shown = cccount("init", tmp_path / "ws", "--embeddings", tmp_path / "x.npy", "--json")
    assert shown.code == 0, shown.err
    assert len(shown.json["failed"]) == 1
    assert cccount("neighbors", tmp_path / "ws", "--k", "3", "--workers", "1").code == 0
    assert cccount("count", tmp_path / "ws", "--budget", "0", "--json").json["high"] == 39.0
    np.save(tmp_path / "all.npy", np.full((5, 3), np.nan, np.float32))
    refused(here("init", tmp_path / "none", "--embeddings", tmp_path / "all.npy"), "all.npy")
    assert not (tmp_path / "none").exists()


def test_pickled_vectors_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{"a": 1}, {}], dtype=object), allow_pickle=True)
    refused(here("init", tmp_path / "ws", "--embeddings", tmp_path / "x.npy"), "x.npy")


def test_duplicate_ids(tmp_path: Path) -> None:
    photos = images(tmp_path / "photos", 2)
    (tmp_path / "m.csv").write_text(f"id,path\na,{photos}/0.png\na,{photos}/1.png\n")
    refused(here("init", tmp_path / "ws", "--manifest", tmp_path / "m.csv"), "'a'")
    assert not (tmp_path / "ws").exists()


def test_labels_of_the_wrong_length(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", digits()[0][:10])
    np.save(tmp_path / "y.npy", np.arange(9))
    shown = here("init", tmp_path / "ws", "--embeddings", tmp_path / "x.npy", "--labels", tmp_path / "y.npy")
    refused(shown, "9", "10")
    assert not (tmp_path / "ws").exists()


def test_more_neighbours_than_items(workspace: Path) -> None:
    refused(here("neighbors", workspace, "--k", "480", "--workers", "1"), "480", "479")
    refused(here("neighbors", workspace, "--k", "0", "--workers", "1"), "0")


def test_stages_in_the_wrong_order(tmp_path: Path) -> None:
    photos = images(tmp_path / "photos", 4)
    here("init", tmp_path / "ws", "--images", photos)
    refused(here("neighbors", tmp_path / "ws", "--workers", "1"), "cccount embed")
    refused(here("count", tmp_path / "ws"), "cccount embed")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--budget", "-1"], "--budget"),
        (["--level", "1.5"], "--level"),
        (["--oracle", "parrot"], "parrot"),
        (["--oracle", "labels", "--error-rate", "2"], "--error-rate"),
        (["--error-rate", "0.1"], "people err by themselves"),
        (["--target-width", "0"], "--target-width"),
        (["--method", "guess"], "guess"),
        (["--campaign", "../x"], "'../x'"),
        (["--seed", "-1"], "seed"),
    ],
)
def test_options_that_make_no_sense(workspace: Path, options: list[str], word: str) -> None:
    refused(here("count", workspace, *options), word)
    assert not (workspace / "campaigns").exists()


def test_a_workspace_of_another_version(workspace: Path) -> None:
    path = workspace / "workspace.toml"
    path.write_text(path.read_text().replace("format = 2", "format = 3"))
    refused(here("status", workspace), "format 3")


def test_a_cluster_that_is_not_there(workspace: Path) -> None:
    refused(cccount("neighbors", workspace, "--compute", "tcp://127.0.0.1:9"), "tcp://127.0.0.1:9")
    refused(cccount("neighbors", workspace, "--compute", "cloud"), "cloud")


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small file system needs root")
def test_a_full_disk_stops_a_campaign_in_one_line_and_loses_nothing(workspace: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1600k", "tmpfs", small], check=False).returncode:
        pytest.skip("this machine does not let us mount a small file system")
    try:
        subprocess.run(["cp", "-r", workspace, small / "ws"], check=True)
        assert cccount("count", small / "ws", "--oracle", "labels", "--budget", "100").code == 0
        filler = small / "filler"
        with filler.open("wb") as sink:
            free = os.statvfs(small).f_bavail * os.statvfs(small).f_frsize
            sink.write(b"x" * max(0, free - 8192))
        shown = cccount("count", small / "ws", "--oracle", "labels", "--budget", "400")
        refused(shown, "disk is full")
        filler.unlink()
        shown = cccount("count", small / "ws", "--oracle", "labels", "--budget", "400", "--json")
        assert shown.json["questions"] == 400, shown.err
        whole = cccount("count", workspace, "--oracle", "labels", "--budget", "400", "--json")
        assert shown.json == whole.json
    finally:
        subprocess.run(["umount", small], check=True)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_no_write_permission(workspace: Path, tmp_path: Path) -> None:
    # Root may write anywhere, so a child becomes nobody after it has imported everything it needs.
    script = (
        "import os, sys; from tests.flows.calls import CountOptions, count; from storage.errors import CccountError\n"
        "import mmap, cccount_dist.counting.nis, cccount_dist.campaign.runner\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "try:\n    count(sys.argv[1], 'c', CountOptions(budget=5, oracle='labels'))\n"
        "except CccountError as error:\n    print('refused:', error)\n"
    )
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.getuid() and str(path).startswith("/tmp/"):
            path.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", script, str(workspace)], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("refused: cannot use"), done.stderr
    assert "permission" in done.stdout
    assert not (workspace / "campaigns").exists()
