"""Campaigns go on when the collection grows, or when vectors or neighbours are others: every answer stays known."""

import os
import pty
import shutil
import subprocess
import sys
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import chisquare
from sklearn.datasets import load_digits

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.counting.grown import remembered, with_earlier
from cccount_dist.counting.methods import make_counter
from cccount_dist.counting.order import random_order
from cccount_dist.counting.result import CountResult
from cccount_dist.embedding import additions
from cccount_dist.review.desk import Desk
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.sampling.drive import drive
from cccount_dist.sampling.logged import answers_of, questions_of
from cccount_dist.sampling.oracles import LabelOracle
from cccount_dist.similarity.rows import degree
from storage.campaigns import CampaignFolder
from storage.errors import InputError, WorkspaceError
from storage.schema import DEGREE, EMBEDDINGS
from storage.workspace import Workspace
from tests.cccount_dist.samplers import blobs, enough
from tests.flows.calls import ClusterOptions, CountOptions, cluster, count, extend, initialise, status, verify
from tests.flows.conftest import ITEMS, cccount, environment

MORE = 40


@pytest.fixture(scope="module")
def all_labels() -> NDArray[np.int64]:
    found: NDArray[np.int64] = load_digits().target[: ITEMS + MORE]
    return found


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty further digits."""
    file = tmp_path_factory.mktemp("more") / "more.npz"
    data = load_digits()
    np.savez(file, x=data.data[ITEMS : ITEMS + MORE].astype(np.float32), y=data.target[ITEMS : ITEMS + MORE])
    return file


@pytest.fixture(scope="module")
def pair_of_workspaces(prepared: Path, more: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The prepared workspace, and what of it is replaced when forty items are added: made once by the real commands."""
    grown = Path(shutil.copytree(prepared, tmp_path_factory.mktemp("grown") / "ws"))
    extend(str(grown), embeddings=str(more))
    shown = cccount("neighbors", grown, "--k", "10", "--workers", "1")
    assert shown.code == 0, shown.err
    return prepared, grown


def grow(workspace: Path, pair: tuple[Path, Path]) -> None:
    """Let a copy of the first workspace have the inputs of the second, as `extend` and `neighbors` would leave it."""
    for entry in pair[1].iterdir():
        if entry.name not in ("campaigns", "workspace.toml", ".cache", ".scratch"):
            there = workspace / entry.name
            if there.is_dir():
                shutil.rmtree(there)
            (shutil.copytree if entry.is_dir() else shutil.copy)(entry, there)


# -- the random order -------------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**40), st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_an_order_that_grows_keeps_the_order_of_what_was_there(seed: int, sizes: list[int]) -> None:
    steps = np.cumsum(sizes).tolist()
    orders = [random_order(seed, size, steps[:number]) for number, size in enumerate(steps)]
    first = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed))).permutation(steps[0])
    np.testing.assert_array_equal(orders[0], first)  # of a collection that never grew: as it always was
    for before, after in pairwise(orders):
        assert sorted(after.tolist()) == list(range(len(after)))
        np.testing.assert_array_equal(after[after < len(before)], before)


def test_every_order_of_a_grown_collection_is_as_likely_as_every_other() -> None:
    seen: dict[tuple[int, ...], int] = {}
    for seed in range(6000):
        order = tuple(random_order(seed, 4, [2, 3]).tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    assert chisquare(list(seen.values())).pvalue > 1e-4


def test_a_count_that_grew_covers_the_truth_as_often_as_it_says() -> None:
    """Counted over 150 items, then over 240 of which the new ones are other classes: with what was answered known."""
    runs, covered = 60, 0
    for seed in range(runs):
        vectors, labels = blobs((4, 16) * 12, noise=0.3, seed=seed)
        order = np.argsort(labels % 3 == 0, kind="stable")  # a third of the classes is new
        vectors, labels = np.ascontiguousarray(vectors[order]), labels[order]
        known, oracle = Constraints(), LabelOracle(labels, seed=seed)
        before = make_counter("placing", vectors=vectors[:150], degree=degree(vectors[:150]), seed=seed)
        drive(before, oracle, budget=120, constraints=known)
        after = make_counter("placing", vectors=vectors, degree=degree(vectors), seed=seed, earlier=(150,))
        carried = Constraints()
        carried.extend((u, v, value, f"before {name}") for u, v, value, name in known.links())
        drive(after, oracle, budget=250, constraints=carried)
        found = after.result()
        covered += found.low <= len(np.unique(labels)) <= found.high
    assert covered >= enough(runs, 0.95)


def test_right_after_a_collection_grew_the_interval_holds_the_truth_without_a_new_answer() -> None:
    """What was known before holds with each new item allowed for, and a few answers later the narrower of both does, too."""
    runs = 60
    covered, estimated = [0, 0], 0
    for seed in range(runs):
        vectors, labels = blobs((4, 16) * 12, noise=0.3, seed=seed)
        order = np.argsort(labels % 3 == 0, kind="stable")  # a third of the classes is new
        vectors, labels = np.ascontiguousarray(vectors[order]), labels[order]
        known, oracle, truth = Constraints(), LabelOracle(labels, seed=seed), len(np.unique(labels))
        before = make_counter("placing", vectors=vectors[:150], degree=degree(vectors[:150]), seed=seed)
        drive(before, oracle, budget=120, constraints=known)
        came_to = before.result()
        row = {"estimate": came_to.estimate, "low": came_to.low, "high": came_to.high, "clusters_seen": came_to.certain_low}
        kept = remembered(row, came_to.details, None)
        after = make_counter("placing", vectors=vectors, degree=degree(vectors), seed=seed, earlier=(150,))
        carried = Constraints()
        carried.extend((u, v, value, f"before {name}") for u, v, value, name in known.links())
        for place, budget in enumerate((0, 25)):
            drive(after, oracle, budget=budget, constraints=carried)
            found = with_earlier(after.result(), kept, len(vectors) - 150)
            estimated += found.estimate is not None
            covered[place] += found.low <= truth <= found.high
    assert estimated == 2 * runs
    assert min(covered) >= enough(runs, 0.95)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 50), st.integers(0, 30), st.integers(0, 30), st.integers(0, 80), st.integers(-5, 40))
def test_what_was_known_before_is_used_only_where_the_new_order_says_less(
    low: int, estimate: int, high: int, placed: int, more: int
) -> None:
    before = {"estimate": low + estimate, "low": low, "high": low + estimate + high, "clusters_seen": float(low)}
    kept = remembered(before, {"items_placed": 40.0}, None)
    for result in (CountResult(None, 1.0, 500.0, 0.95, placed, 0), CountResult(7.0, 4.0, 40.0, 0.95, placed, 9)):
        found = with_earlier(result, kept, more)
        if placed >= 40:
            assert found == result
        assert found.high - found.low <= max(result.high - result.low, estimate + high + abs(more))
        assert found.estimate is None or found.low <= found.estimate <= found.high
    assert remembered({**before, "estimate": None}, {}, None) is None


# -- what a person sees -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "method"), [("count", "placing"), ("cluster", "evidence"), ("cluster", "hacc")])
def test_extend_no_longer_kills_a_running_campaign(
    workspace: Path,
    pair_of_workspaces: tuple[Path, Path],
    all_labels: NDArray[np.int64],
    kind: str,
    method: str,
) -> None:
    told = {"clusters": 10} if method == "hacc" else {}
    campaign = Campaign.create(str(workspace), "c", kind, method=method, budget=60, **told)
    campaign.advance()
    said: dict[tuple[int, int], str] = {}
    while len(said) < 30:
        for question in campaign.ask(8):
            value = float(all_labels[question.u] == all_labels[question.v])
            campaign.tell([Response(question.id, value, "ana", id=f"a-{question.id}")])
            said[min(question.u, question.v), max(question.u, question.v)] = f"a-{question.id}"
        campaign.advance()
    (open_question,) = campaign.ask(1)
    grow(workspace, pair_of_workspaces)
    campaign.tell(
        [Response(open_question.id, float(all_labels[open_question.u] == all_labels[open_question.v]), "ana", id="late")]
    )
    with pytest.raises(WorkspaceError, match=r"cannot be replayed: 40 items more, 520 in all"):
        campaign.advance(strict=True)
    said_before = campaign.result()
    campaign.advance()
    assert "epoch 2 since" in str(campaign.status().epoch)
    if kind == "count":
        now = campaign.result()
        assert now is not None
        assert said_before is not None
        assert f"between {now['low']:.0f} and {now['high']:.0f}" in Path(campaign.report()).read_text(encoding="utf-8")
        assert now["estimate"] is not None, "300 answers, and no estimate yet"
        assert now["low"] >= said_before["low"]
        assert now["high"] <= said_before["high"] + MORE
    assert "40 items more, 520 in all" in str(campaign.status().epoch)
    folder = CampaignFolder(Workspace.open(workspace), "c")
    (_, epoch) = folder.epochs()
    assert epoch.items == ITEMS + MORE
    rows = answers_of(folder.log.answers())
    assert {"late", *said.values()} <= {row.id for row in rows}
    for _ in range(4):
        for question in campaign.ask(8):
            assert (min(question.u, question.v), max(question.u, question.v)) not in said, "it was answered before"
            campaign.tell([Response(question.id, float(all_labels[question.u] == all_labels[question.v]), "ana")])
        campaign.advance()
    asked = questions_of(folder.log.questions())[epoch.questions :]
    if kind == "count":
        assert any(max(q.u, q.v) >= ITEMS for q in asked)
    assert verify(str(workspace))["ok"]


def test_a_finished_count_keeps_its_estimate_until_it_gets_a_larger_budget(
    workspace: Path, pair_of_workspaces: tuple[Path, Path]
) -> None:
    place = str(workspace)
    before = count(place, "c", CountOptions(budget=200, oracle="labels", error_rate=0.04))
    grow(workspace, pair_of_workspaces)
    assert count(place, "c", CountOptions(budget=200, oracle="labels", error_rate=0.04)) == before
    (shown,) = status(place)["campaigns"]
    assert "was finished before items, vectors or neighbours changed" in shown["hindrance"]
    assert f"cccount count {place} --campaign c --budget" in shown["hindrance"]
    after = count(place, "c", CountOptions(budget=260, oracle="labels", error_rate=0.04))
    assert after["questions"] == 260
    assert after["inferred"] >= 60, "what was answered about the old items is not paid for again"
    assert after["low"] <= 10 <= after["high"]
    assert "hindrance" not in status(place)["campaigns"][0]


def test_groups_take_new_items_in_with_all_that_was_answered(workspace: Path, pair_of_workspaces: tuple[Path, Path]) -> None:
    place = str(workspace)
    before = cluster(place, "g", ClusterOptions(budget=60, oracle="labels"))
    grow(workspace, pair_of_workspaces)
    after = cluster(place, "g", ClusterOptions(budget=75, oracle="labels"))
    assert after["nmi"] > before["nmi"] - 0.05, "fifteen answers about 520 items alone would give far worse groups"


def test_between_extend_and_neighbors_status_says_what_to_run(workspace: Path, more: Path) -> None:
    campaign = Campaign.create(str(workspace), "c", "count", budget=60)
    campaign.advance()
    desk = Desk(Workspace.open(workspace), "c")  # of a page that is open all the time
    assert desk.hindrance() is None
    shown = cccount("extend", workspace, "--embeddings", more)
    assert shown.code == 0, shown.err
    assert "Campaign 'c' will go on in a new epoch: there will be more items." in shown.err
    assert f"Next: cccount neighbors {workspace}" in shown.out
    told = status(str(workspace))
    assert told["next"] == f"cccount neighbors {workspace} --k 10 --metric cosine", "not to let people answer on and on"
    assert told["stages"][2]["said"].endswith("; made before the vectors changed")
    (found,) = told["campaigns"]
    assert found["hindrance"] == (
        f"waits for the neighbours of the present vectors: run `cccount neighbors {workspace} --k 10 --metric cosine`"
    )
    with closing(desk):
        assert desk.hindrance() == found["hindrance"], "the page says why nothing new is asked"
        assert desk.item(ITEMS + 1).id == str(ITEMS + 1), "it knows the new items"
        (sheet,) = desk.take("ana", 1)  # what was asked may be answered, and counts
        assert desk.answer("ana", [Response(sheet.candidates[0].question_id, 1.0, "ana", id="counts")]).stored == ["counts"]


def test_at_a_terminal_a_command_asks_before_a_campaign_goes_on_in_a_new_epoch(workspace: Path) -> None:
    Campaign.create(str(workspace), "c", "count", budget=60).advance()
    before = Workspace.open(workspace).array(DEGREE).fingerprint()
    ours, theirs = pty.openpty()
    os.write(ours, b"n\n")
    command = [sys.executable, "-m", "flows", "neighbors", str(workspace), "--k", "12", "--workers", "1"]
    done = subprocess.run(
        command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=environment(), timeout=240, check=False
    )
    said = os.read(ours, 10_000).decode()
    for end in (ours, theirs):
        os.close(end)
    assert done.returncode == 1
    assert "Campaign 'c' will go on in a new epoch: there will be other neighbours" in said
    assert "Nothing was changed." in said
    assert Workspace.open(workspace).array(DEGREE).fingerprint() == before


# -- extend -------------------------------------------------------------------------------------------------------------------


def test_extend_takes_vectors_and_goes_on_where_it_was_killed(
    workspace: Path, more: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(additions, "write_given", killed)
        with pytest.raises(KeyboardInterrupt):
            extend(str(workspace), embeddings=str(more))
    assert extend(str(workspace), embeddings=str(more))["items"] == ITEMS + MORE
    opened = Workspace.open(workspace)
    assert opened.collection().ids[-1] == str(ITEMS + MORE - 1)
    wanted = load_digits().data[: ITEMS + MORE].astype(np.float32)
    np.testing.assert_array_equal(opened.array(EMBEDDINGS).read(), wanted)
    assert not (workspace / "previous.zarr").exists()
    assert extend(str(workspace), embeddings=str(more), prefix="again/")["added"] == MORE
    assert extend(str(workspace), embeddings=str(more), prefix="again/")["added"] == 0, "these are there already"


def test_the_same_files_under_another_prefix_are_not_added_twice(tmp_path: Path) -> None:
    """Before: they were, without a word, and every one of them was counted twice."""
    for card in ("one", "two"):
        (tmp_path / card).mkdir()
        for number in range(2):
            Image.new("RGB", (8, 8), (number, len(card), ord(card[0]))).save(tmp_path / card / f"IMG_{number}.png")
    place = str(tmp_path / "ws")
    initialise(place, images=str(tmp_path / "one"))
    assert extend(place, images=str(tmp_path / "two"), prefix="two/")["added"] == 2
    assert extend(place, images=str(tmp_path / "two"), prefix="two/")["added"] == 0
    with pytest.raises(InputError, match="2 of 2 files are in the collection already, under other ids"):
        extend(place, images=str(tmp_path / "two"), prefix="again/")
    (tmp_path / "named.csv").write_text(f"id,path\nraven,{tmp_path}/two/IMG_0.png\n", encoding="utf-8")
    told = extend(place, manifest=str(tmp_path / "named.csv"))
    assert (told["added"], told["again"]) == (1, 1)


def test_vectors_of_another_encoder_are_refused(workspace: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "other.npy", np.ones((3, 7), np.float32))
    with pytest.raises(InputError, match="have 64 dimensions, and these 7"):
        extend(str(workspace), embeddings=str(tmp_path / "other.npy"))
    with pytest.raises(InputError, match="exactly one of --images"):
        extend(str(workspace))
    assert verify(str(workspace))["ok"]
