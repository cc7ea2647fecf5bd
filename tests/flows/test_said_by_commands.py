"""What commands say to a person: the next command that works, stages, what was left out, the user's own word."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from cccount_dist.campaign.advancing import start
from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.embedding.copies import exact_copies
from flows.compute.options import PreparingOptions
from flows.stages.campaigns import run_campaign, status
from flows.stages.initialise import initialise
from flows.stages.options import InitOptions
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.workspace import Workspace
from tests.cccount_dist.report.reading import check
from tests.flows.calls import ClusterOptions, CountOptions, advance, count, write_reports
from tests.flows.conftest import cccount, files_of


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    (folder / "card").mkdir(parents=True)
    random = np.random.default_rng(0)
    for number in range(5):
        Image.fromarray(random.integers(0, 255, (30, 40, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    shutil.copy(folder / "1.png", folder / "card" / "again.png")
    for name in ("notes.txt", "list.txt", "track.gpx", ".DS_Store"):
        (folder / name).write_text("x")
    return folder


def test_init_says_what_it_skipped_and_which_files_are_exact_copies(photos: Path, tmp_path: Path) -> None:
    made = initialise(str(tmp_path / "ws"), InitOptions(images=str(photos)))
    assert made.json()["skipped"] == {".txt": 2, "hidden": 1, ".gpx": 1}
    assert made.json()["copies"] == [["1.png", "card/again.png"]]
    assert "no images by their names: 2 .txt, 1 hidden, 1 .gpx." in made.words()
    assert "1 file is an exact copy of another: 1.png = card/again.png." in made.words()
    assert made.words().endswith(f"Next: cccount embed {tmp_path / 'ws'}")


def test_files_of_one_size_are_no_copies_and_crops_of_one_file_neither(tmp_path: Path) -> None:
    for name, data in (("a", b"x" * 100_000), ("b", b"x" * 99_999 + b"y"), ("c", b"x" * 100_000), ("empty", b""), ("void", b"")):
        (tmp_path / name).write_bytes(data)
    uris = [str(tmp_path / name) for name in ("a", "b", "c", "empty", "void", "gone")]
    assert exact_copies([*uris, f"{uris[0]}#xywh=0,0,5,5", "s3://bucket/a", None]) == [[0, 2]]


def test_a_second_init_does_not_advise_to_delete_the_workspace(photos: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "ws")
    initialise(place, InitOptions(images=str(photos)))
    before = files_of(tmp_path / "ws")
    with pytest.raises(InputError) as caught:
        initialise(place, InitOptions(images=str(photos)))
    assert "delete" not in str(caught.value)
    assert f"go on with `cccount embed {place}`" in str(caught.value)
    assert files_of(tmp_path / "ws") == before


def test_neighbors_works_on_a_small_collection_with_its_own_default(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32)
    x[3] = np.nan
    np.save(tmp_path / "x.npy", x)
    place = str(tmp_path / "ws")
    initialise(place, InitOptions(embeddings=(str(tmp_path / "x.npy"),)))
    shown = cccount("neighbors", place, "--workers", "1")
    assert shown.code == 0, shown.err
    assert "The usual k is 50: this collection is small, so k is 10, all others that have a vector." in shown.out
    again = cccount("neighbors", place, "--workers", "1", "--k", "50")
    assert (again.code, "the largest k that works is 10" in again.line) == (1, True)


def test_status_shows_stages_and_the_next_command(photos: Path, workspace: Path, tmp_path: Path) -> None:
    fresh = str(tmp_path / "fresh photos")
    initialise(fresh, InitOptions(images=str(photos)))
    assert status(fresh).words().splitlines() == [
        "init       6 items", "embed      not yet", "neighbors  not yet", "", "No campaign yet.", "",
        f"Next: cccount embed '{fresh}'",
    ]  # fmt: skip
    place = str(workspace)
    assert status(place).next == f"cccount count {place}"
    assert "neighbors  10 for each item, by cosine similarity" in status(place).words()
    said = run_campaign(place, "count", CountOptions(budget=30, method="nis"), _nothing()).words()
    assert f"30 questions wait for people. Next: cccount review {place}" in said
    assert "answers export" not in said
    assert status(place).next == f"cccount review {place}"
    count(place, "labelled", CountOptions(budget=20, oracle="labels"))
    shutil.rmtree(workspace / "campaigns" / "count")
    assert status(place).next == f"cccount report {place}"


def test_after_a_kill_the_next_command_goes_on_and_is_no_report(workspace: Path) -> None:
    place = str(workspace)
    start(Workspace.open(place), "killed", CountOptions(budget=20, oracle="labels"))  # and nothing after it
    (row,) = status(place).campaigns
    assert (row.state, row.interrupted) == ("stopped", True)
    assert status(place).next == f"cccount advance {place} --campaign killed"
    count(place, "killed", CountOptions(budget=20, oracle="labels"))
    assert "interrupted" not in status(place).campaigns[0].json()
    assert status(place).next == f"cccount report {place}"


def test_the_word_of_the_user_is_in_messages_status_and_report_and_can_be_changed(workspace: Path) -> None:
    place = str(workspace)
    done = run_campaign(place, "census", CountOptions(budget=300, oracle="labels", noun="individual", seed=1), _nothing())
    assert "individuals" in done.words()
    assert "clusters" not in done.words().replace("clusters_", "")
    assert "individual" in status(place).words()
    (file,) = write_reports(place, "census")["files"]
    page = check(Path(file).read_text(encoding="utf-8"))
    assert "individuals From 300 answers. The 95 % interval" in page.text.replace("\xa0", " ")
    assert "different ones" not in page.text
    count(place, "census", CountOptions(budget=310, oracle="labels", seed=1))
    folder = CampaignFolder(Workspace.open(place), "census")
    assert folder.goal().noun == "individual", "a larger budget keeps the word"
    asked = folder.log.questions().num_rows
    count(place, "census", CountOptions(budget=310, oracle="labels", noun="person/people", question="Is it she?", seed=1))
    assert (folder.goal().noun, folder.goal().question) == ("person/people", "Is it she?")
    assert folder.log.questions().num_rows == asked, "words decide no questions"
    assert "people" in status(place).words()
    with pytest.raises(InputError, match="--noun takes one word"):
        CountOptions(noun=" / ")


def test_a_word_that_init_was_told_holds_for_every_campaign(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32))
    place = str(tmp_path / "ws")
    initialise(place, InitOptions(embeddings=(str(tmp_path / "x.npy"),), noun="lynx"))
    for name, said in (("groups", None), ("others", "paw")):
        run_campaign(place, name, ClusterOptions(method="iu-red", clusters=2, budget=5, noun=said), _nothing())
    goals = [CampaignFolder(Workspace.open(place), name).goal().noun for name in ("groups", "others")]
    assert goals == ["lynx", "paw"]
    assert cccount("verify", place, "--json").json["ok"]


def test_counts_are_whole_numbers_for_people_and_exact_in_json(workspace: Path) -> None:
    done = run_campaign(str(workspace), "census", CountOptions(budget=60, method="nis", oracle="labels"), _nothing())
    found = done.json()
    assert found["estimate"] != round(float(str(found["estimate"])))
    first = done.words().splitlines()[0]
    assert "." not in first.removesuffix(".")
    low, high = float(str(found["low"])), float(str(found["high"]))
    assert f"({int(low)} to {int(high) + 1})" in first.replace(",", "") or low < 1.0


def test_a_campaign_that_older_versions_wrote_has_no_word_and_says_what_it_said(workspace: Path) -> None:
    place = str(workspace)
    count(place, "old", CountOptions(budget=40, method="nis"))
    goal = workspace / "campaigns/old/goal.toml"
    assert "noun" not in goal.read_text()
    campaign = Campaign.open(place, "old")
    campaign.tell([Response(q.id, 1.0) for q in campaign.ask(5)])
    advance(place, "old")
    assert "cluster" in status(place).words()


def _nothing() -> PreparingOptions:
    return PreparingOptions()
