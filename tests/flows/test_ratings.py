"""Campaigns that ask for ratings, through the front door: no embeddings, people, simulated raters, a prior."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from cccount_dist import Campaign, Response
from cccount_dist.clustering.agreement import ari
from cccount_dist.clustering.methods import grouping_methods
from cccount_dist.clustering.spectral.complete import complete_groups
from storage.errors import InputError
from tests.cccount_dist.samplers import blobs
from tests.flows.calls import (
    ClusterOptions,
    CountOptions,
    advance,
    cluster,
    count,
    extend,
    initialise,
    status,
    verify,
    write_reports,
)
from tests.flows.conftest import cccount


@pytest.fixture
def objects(tmp_path: Path) -> str:
    """A workspace of 24 objects of two kinds, of which nothing is known but their files."""
    rows = ["path,kind"]
    for number in range(24):
        (tmp_path / f"{number}.jpg").write_bytes(b"not looked at")
        rows.append(f"{number}.jpg,{'ab'[number % 2]}")
    (tmp_path / "manifest.csv").write_text("\n".join(rows))
    place = str(tmp_path / "objects")
    initialise(place, manifest=str(tmp_path / "manifest.csv"), labels="kind")
    return place


@pytest.mark.parametrize("method", grouping_methods(ratings=True))
def test_objects_without_embeddings_are_grouped(objects: str, method: str) -> None:
    early = cluster(objects, "g", ClusterOptions(method=method, budget=10, oracle="labels"))
    assert (early["clusters"], early["state"]) == (0, "done")
    assert early["warning"] == "there is no grouping yet, for the ratings leave 14 parts that are not connected"
    assert "nmi" not in early
    reached = cluster(objects, "g", ClusterOptions(method=method, budget=140, oracle="labels"))
    assert (reached["clusters"], reached["questions"], reached["inferred"], reached["warning"]) == (2, 140, 0, None)
    assert reached["contradictions"] == 0
    assert reached["ari"] == 1.0
    assert pq.read_table(reached["labels"]).num_rows == 24
    at_once = cluster(objects, "once", ClusterOptions(method=method, budget=140, oracle="labels"))
    assert {**reached, "campaign": "", "labels": ""} == {**at_once, "campaign": "", "labels": ""}
    assert verify(objects)["ok"]


def test_people_rate_and_a_rating_of_1_is_no_link_for_other_campaigns(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    waiting = cluster(place, "g", ClusterOptions(method="iu-red", clusters=10, budget=30))
    assert waiting["state"] == "waiting"
    campaign = Campaign.open(place, "g")
    questions = campaign.ask(100)
    assert {q.kind for q in questions} == {"rating"}
    campaign.tell(Response(q.id, 0.25 if q.id % 2 else float(labels[q.u] == labels[q.v])) for q in questions)
    advanced = advance(place, "g")
    assert (advanced["questions"], advanced["pending"]) == (16, 14)
    shown = status(place)["campaigns"][0]
    assert (shown["result"]["clusters"], shown["contradictions"]) == (0, 0)
    count(place, "c", CountOptions(budget=5))
    assert len(Campaign.open(place, "c").ledger.constraints) == 0


def test_simulated_raters_see_the_embeddings(workspace: Path) -> None:
    place = str(workspace)
    rated = cluster(place, "g", ClusterOptions(method="iu-red", clusters=2, budget=20, oracle="similarity", error_rate=0.1))
    assert rated["questions"] == 20
    opened = Campaign.open(place, "g")
    ledger = opened.ledger
    values = [row.value for q in opened.questions if (row := ledger.settled(q.id))]
    assert any(value not in (0.0, 1.0) for value in values)
    with pytest.raises(InputError, match="asks same or different"):
        cluster(place, "h", ClusterOptions(method="evidence", budget=5, oracle="similarity"))
    with pytest.raises(InputError, match="--oracle takes people or labels"):
        CountOptions(oracle="similarity")


def test_embeddings_may_give_a_prior(workspace: Path) -> None:
    place = str(workspace)
    reached = cluster(place, "g", ClusterOptions(method="iu-red", clusters=10, prior=0.3, budget=30, oracle="labels"))
    assert reached["clusters"] == 10  # the neighbours connect the items from the start
    assert reached["nmi"] > 0.5
    with pytest.raises(InputError, match=r"--prior 0.3, not 0.2"):
        cluster(place, "g", ClusterOptions(method="iu-red", prior=0.2, budget=40, oracle="labels"))
    with pytest.raises(InputError, match="is for methods that ask for ratings"):
        ClusterOptions(method="hacc", clusters=10, repeats=2)


def test_items_that_were_added_open_an_epoch_and_no_rating_is_asked_again(objects: str, tmp_path: Path) -> None:
    cluster(objects, "g", ClusterOptions(method="iu-red", budget=5, oracle="labels"))
    more = tmp_path / "more"
    more.mkdir()
    (more / "new.jpg").write_bytes(b"one more")
    extend(objects, images=str(more))
    (file,) = write_reports(objects, "g")["files"]
    assert "Error and cost" in Path(file).read_text(), "a finished campaign is reported as it was"
    reached = cluster(objects, "g", ClusterOptions(method="iu-red", budget=9, oracle="labels"))
    assert reached["questions"] == 9
    assert "1 item more, 25 in all" in status(objects)["campaigns"][0]["epoch"]


def test_the_command_groups_by_ratings_and_says_what_is_missing(objects: str) -> None:
    shown = cccount("cluster", objects, "--method", "iu-red", "--budget", "8", "--oracle", "labels")
    assert shown.code == 0, shown.err
    assert "no grouping yet" in shown.out
    refused = cccount("cluster", objects, "--campaign", "p", "--method", "iu-red", "--prior", "0.3", "--oracle", "labels")
    assert refused.code == 1
    assert "cccount embed" in refused.err


def test_what_cannot_be_grouped_leaves_no_campaign_behind(objects: str) -> None:
    with pytest.raises(InputError, match="clusters is 99, but there are 24 items"):
        cluster(objects, "g", ClusterOptions(method="iu-red", clusters=99, budget=5, oracle="labels"))
    assert cluster(objects, "g", ClusterOptions(method="iu-red", clusters=2, budget=5, oracle="labels"))["questions"] == 5


def test_the_report_says_error_and_cost(objects: str) -> None:
    cluster(objects, "g", ClusterOptions(method="iu-red", budget=140, oracle="labels"))
    (file,) = write_reports(objects, "g", price=0.045)["files"]
    page = Path(file).read_text()
    assert "Error and cost" in page
    assert "0% of the items are in another group" in page.replace("\xa0", "")
    assert "6.30" in page  # 140 questions
    assert "12.42" in page  # all 276 pairs
    assert "Cost, at 9 seconds and 0.045 a question" in page
    cluster(objects, "people", ClusterOptions(method="iu-red", budget=20))
    (file,) = write_reports(objects, "people")["files"]
    assert "not known, for not all pairs were rated" in Path(file).read_text()
    with pytest.raises(InputError, match="--price must be 0 or more, not -1"):
        write_reports(objects, "g", price=-1.0)


def test_the_complete_solution_is_that_of_all_cosines() -> None:
    vectors, labels = blobs((12, 12), noise=0.2, seed=3)
    assert ari(labels, complete_groups(vectors, 2)) == 1.0
    assert complete_groups(vectors, 1).tolist() == [0] * 24
