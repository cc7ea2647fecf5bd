"""Subclustering campaigns through the front door: resume, people, K from a count, Dask, the page to browse."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image

from cccount_dist import Campaign, Response
from cccount_dist.kinds.subcluster.browse import encoded_picture
from cccount_dist.subclustering.scores import subcluster_scores
from storage.errors import InputError
from storage.workspace import Workspace
from tests.flows.calls import (
    CountOptions,
    SubclusterOptions,
    advance,
    browse,
    count,
    initialise,
    stage,
    status,
    subcluster,
    verify,
    write_reports,
)
from tests.flows.conftest import cccount
from tests.review.conftest import Served


def simulated(budget: int, **options: object) -> SubclusterOptions:
    return SubclusterOptions(budget=budget, oracle="labels", **{"clusters": 10, "size": 5, **options})  # type: ignore[arg-type]


def test_answers_make_subclusters_clean_and_the_file_says_who_stands_where(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    start = subcluster(place, "s", simulated(0))
    reached = subcluster(place, "s", simulated(400))
    assert (reached["subclusters"], reached["state"]) == (10, "done")
    assert reached["questions"] <= 400
    assert start["sjc"] < reached["sjc"] == 1.0
    table = pq.read_table(reached["file"]).to_pydict()
    assert table["checked"] == [True] * 50
    members = np.array(table["item"]).reshape(10, 5)
    assert table["place"] == list(range(5)) * 10
    assert subcluster_scores(labels, members).sjc == 1.0
    row = status(place)["campaigns"][0]
    assert row["result"] == {"subclusters": 10, "sjc": 1.0, "coverage": 1.0, "purity": 1.0}
    assert verify(place)["ok"]


def test_a_larger_budget_goes_on_as_if_it_had_been_given_at_once_also_on_a_cluster(workspace: Path) -> None:
    place = str(workspace)
    subcluster(place, "grown", simulated(25))
    grown = subcluster(place, "grown", simulated(60))
    at_once = subcluster(place, "once", simulated(60), workers=1)  # here Dask finds the candidates' nearest images
    assert (workspace / "campaigns/once/candidates.zarr").exists()
    assert not (workspace / "campaigns/grown/candidates.zarr").exists()
    assert {**grown, "campaign": "", "file": ""} == {**at_once, "campaign": "", "file": ""}
    assert pq.read_table(grown["file"]).equals(pq.read_table(at_once["file"]))
    assert advance(place, "grown") == grown
    assert verify(place)["ok"]


def test_people_answer_several_questions_at_once(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    waiting = subcluster(place, "s", SubclusterOptions(clusters=10, size=4, budget=150))
    assert (waiting["state"], waiting["pending"] > 20) == ("waiting", True)
    campaign = Campaign.open(place, "s")
    for _ in range(40):
        campaign.tell(Response(q.id, float(labels[q.u] == labels[q.v])) for q in campaign.ask(10))
        waiting = advance(place, "s")
        if waiting["state"] != "waiting":
            break
    assert waiting["state"] == "done"
    assert waiting["inferred"] == 0
    assert waiting["sjc"] > 0.8


def test_k_comes_from_the_newest_count_campaign_and_is_frozen(workspace: Path) -> None:
    place = str(workspace)
    with pytest.raises(InputError, match="Give --clusters K, or run `cccount count"):
        subcluster(place, "s", SubclusterOptions(size=3, budget=0))
    counted = count(place, "census", CountOptions(budget=400, oracle="labels"))
    reached = subcluster(place, "s", SubclusterOptions(size=3, budget=0))
    assert (reached["clusters"], reached["clusters_from"]) == (round(counted["estimate"]), "census")
    assert subcluster(place, "s", SubclusterOptions(budget=0))["clusters"] == reached["clusters"]
    with pytest.raises(InputError, match="--size 3, not 4"):
        subcluster(place, "s", SubclusterOptions(size=4, budget=0))
    with pytest.raises(InputError, match="is a subcluster campaign"):
        count(place, "s", CountOptions(budget=5))
    with pytest.raises(InputError, match="--size must be at least 1"):
        SubclusterOptions(size=0)
    with pytest.raises(InputError, match="--start takes random or pam"):
        SubclusterOptions(start="best")


def test_the_command_says_what_it_found(workspace: Path) -> None:
    shown = cccount("subcluster", workspace, "--clusters", "10", "--size", "4", "--budget", "40", "--oracle", "labels", "--json")
    assert shown.code == 0, shown.err
    assert {"campaign", "subclusters", "questions", "inferred", "state", "file", "sjc"} <= set(shown.json)
    assert "10 subclusters" in cccount("status", workspace).out
    refused = cccount("subcluster", workspace, "--clusters", "600", "--campaign", "many")
    assert (refused.code, refused.line) == (1, "cccount: clusters is 600, but 480 items have a vector: use 1 to 480")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace of 60 small pictures of three patterns, embedded by their pixels, with a finished campaign."""
    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(0)
    for number in range(60):
        shade = np.zeros((12, 12, 3))
        shade[(slice(6), slice(6, 12), slice(3, 9))[number % 3]] = 200
        noisy = np.clip(shade + random.normal(0, 20, shade.shape), 0, 255).astype(np.uint8)
        (folder / "images" / f"class{number % 3}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(noisy).save(folder / "images" / f"class{number % 3}" / f"{number:02d} <b>.png")
    place = str(folder / "ws")
    initialise(place, images=str(folder / "images"), labels="folder")
    stage("embed", place, encoder="pixels", workers=1)
    stage("neighbors", place, k=5, workers=1)
    stage("subcluster", place, clusters=3, size=4, oracle="labels")
    return folder


def test_the_contact_sheet_shows_every_subcluster_and_needs_nothing_else(pictures: Path) -> None:
    shown = browse(str(pictures / "ws"), "subcluster")
    page = Path(shown["file"]).read_text()
    assert shown["subclusters"] == 3
    assert page.count("<section") == 3
    assert page.count("data:image/") == 12
    assert "<b>.png" not in page.replace("<bdi>", "")
    assert "http://" not in page
    assert "https://" not in page
    assert write_reports(str(pictures / "ws"), "subcluster")["files"] == [shown["file"]]


def test_the_nearest_subcluster_of_an_item_and_of_any_image_is_found(pictures: Path) -> None:
    place = str(pictures / "ws")
    collection = Workspace.open(place).collection()
    labels = collection.labels()
    assert labels is not None
    for item in (0, 30, 59):
        by_item = browse(place, "subcluster", item=collection.ids[item])["nearest"]
        by_image = browse(place, "subcluster", image=collection.uri(item))["nearest"]
        assert by_item == by_image
        assert labels[by_item[0]["item"]] == labels[item]
        assert by_item[0]["similarity"] > by_item[1]["similarity"]
    said = cccount("browse", place, "--item", collection.ids[7])
    assert "Most like subcluster" in said.out
    with pytest.raises(InputError, match="no item of the collection has the id 'nobody'"):
        browse(place, "subcluster", item="nobody")
    with pytest.raises(InputError, match=r"missing\.png: the file does not exist"):
        browse(place, "subcluster", image=str(pictures / "missing.png"))
    with pytest.raises(InputError, match="give one of them"):
        browse(place, "subcluster", item="a", image="b")


def test_given_vectors_can_be_searched_by_item_only(workspace: Path) -> None:
    place = str(workspace)
    subcluster(place, "s", simulated(0))
    ids = Workspace.open(place).collection().ids
    assert browse(place, "s", item=ids[3])["nearest"]
    with pytest.raises(InputError, match="search by the id of an item"):
        encoded_picture(Workspace.open(place), np.zeros((4, 4, 3), np.uint8))


@contextmanager
def running(workspace: Workspace, local: str | None) -> Iterator[Served]:
    server = Served(workspace, local)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def test_the_review_server_shows_subclusters_and_searches_them(pictures: Path) -> None:
    opened = Workspace.open(str(pictures / "ws"))
    uri = opened.collection().uri(4)
    assert uri is not None
    picture = base64.b64encode(Path(uri.removeprefix("file://")).read_bytes()).decode()
    with running(opened, "ana") as server, httpx.Client(base_url=server.url) as client:
        assert "browse.js" in client.get("/browse").text
        assert client.get("/api/browse").json() == {"campaigns": ["subcluster"]}
        sheets = client.get("/api/subcluster/subclusters").json()["subclusters"]
        assert [len(row) for row in sheets] == [4, 4, 4]
        assert all(shown["checked"] for row in sheets for shown in row)
        assert client.get(f"/images/{sheets[0][0]['item']}").headers["content-type"].startswith("image/")
        by_item = client.get("/api/subcluster/nearest", params={"item": opened.collection().ids[4]}).json()["matches"]
        by_picture = client.post("/api/subcluster/nearest", json={"image": picture}).json()["matches"]
        assert by_item[0]["subcluster"] == by_picture[0]["subcluster"]
        for answer, status in (
            (client.get("/api/subcluster/nearest", params={"item": "nobody"}), 422),
            (client.post("/api/subcluster/nearest", json={"image": "####"}), 422),
            (client.post("/api/subcluster/nearest", json={"image": base64.b64encode(b"no picture").decode()}), 422),
            (client.get("/api/other/subclusters"), 404),
        ):
            assert (answer.status_code, isinstance(answer.json()["detail"], str)) == (status, True)
    with running(opened, None) as server, httpx.Client(base_url=server.url) as stranger:
        assert stranger.get("/api/subcluster/subclusters").status_code == 401
