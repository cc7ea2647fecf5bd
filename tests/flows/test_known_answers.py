"""What people said in one campaign is known in all others, from the first step and for every method."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from cccount_dist.campaign.campaign import Campaign, Response
from cccount_dist.campaign.knowledge import weighed
from cccount_dist.clustering.methods import grouping_methods
from cccount_dist.kinds.subcluster.runner import kept_to
from cccount_dist.sampling.constraints import Constraints
from cccount_dist.subclustering.result import EMPTY, Subclusters
from tests.flows.calls import ClusterOptions, cluster, status, write_reports

ANSWERS = 187


@pytest.fixture(scope="module")
def answered(prepared: Path, labels: NDArray[np.int64], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """187 sure answers in a count, as in the report of the person who saw that `cluster` made nothing of them."""
    place = Path(shutil.copytree(prepared, tmp_path_factory.mktemp("answered") / "ws"))
    for name in ("count", "other"):  # the same seed: both ask the same pairs, and in `other` somebody is wrong once
        Campaign.create(str(place), name, "count", method="nis", budget=400).advance()
    campaign, other = (Campaign.open(str(place), name) for name in ("count", "other"))
    questions = campaign.questions[:ANSWERS]
    campaign.tell([Response(q.id, float(labels[q.u] == labels[q.v]), "ana") for q in questions])
    campaign.advance()
    wrong = next(q for q in questions if labels[q.u] == labels[q.v])
    assert (other.questions[wrong.id].u, other.questions[wrong.id].v) == (wrong.u, wrong.v)
    (place.parent / "wrong.txt").write_text(str(wrong.id))
    return place


def labels_of(place: Path, campaign: str) -> NDArray[np.int64]:
    found: NDArray[np.int64] = pq.read_table(place / f"campaigns/{campaign}/results/labels.parquet").column("cluster").to_numpy()
    return found


@pytest.mark.parametrize("method", grouping_methods())
def test_cluster_no_longer_parts_what_people_called_the_same_in_count(answered: Path, tmp_path: Path, method: str) -> None:
    place = Path(shutil.copytree(answered, tmp_path / "ws"))
    rows = [row for row in Campaign.open(str(place), "count").ledger.rows() if row.source == "people"]
    assert len(rows) == ANSWERS
    clusters = 10 if method == "hacc" else None
    reached = cluster(str(place), "cluster", ClusterOptions(method=method, budget=6, oracle="labels", clusters=clusters))
    groups = labels_of(place, "cluster")
    if (groups < 0).all():
        assert method in grouping_methods(ratings=True)  # six ratings make no groups of 480 items yet
        return
    wrong = [row for row in rows if (groups[row.u] == groups[row.v]) != (row.value == 1.0)]
    assert wrong == []
    assert reached["against"] == []


def test_a_result_that_goes_against_a_sure_answer_says_so_with_the_pair(answered: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(answered, tmp_path / "ws"))
    other = Campaign.open(str(place), "other")
    wrong = other.questions[int((answered.parent / "wrong.txt").read_text())]
    other.tell([Response(wrong.id, 0.0, "ben")])
    other.advance()
    reached = cluster(str(place), "cluster", ClusterOptions(budget=4, oracle="labels"))
    assert reached["against"] == [{"u": wrong.u, "v": wrong.v, "value": 0.0}]
    words = f"{wrong.u} and {wrong.v} were called different"
    assert "the groups go against 1 sure answer" in reached["warning"]
    assert words in reached["warning"]
    assert next(c for c in status(str(place))["campaigns"] if c["campaign"] == "cluster")["result"]["against"] == 1
    (file,) = write_reports(str(place), "cluster")["files"]
    assert words in Path(file).read_text()


def test_subclusters_hold_nothing_that_people_called_different_from_the_centroid() -> None:
    known = Constraints()
    for u, v, value in ((0, 1, 1.0), (0, 2, 0.0), (3, 0, 1.0)):
        known.add(u, v, value, f"{u} {v}")
    members = np.array([[0, 1, 2], [3, 4, EMPTY], [5, 6, 7]])
    none = np.zeros((3, 3), np.bool_)
    found = Subclusters(members, none, np.zeros((3, 3)), np.zeros(3, np.bool_), 1.0, 8)
    kept = kept_to(found, known)
    assert kept.members.tolist() == [[0, 1, EMPTY], [3, 4, EMPTY], [5, 6, 7]]
    assert kept.checked.tolist()[0] == [True, True, False]
    assert kept.surplus.tolist() == [False, True, False], "3 is known to be the same as 0"


def test_one_wrong_same_among_votes_joins_no_clusters() -> None:
    votes = [(u, 0, 1.0, f"a{u}") for u in (1, 2, 3)] + [(u, 10, 1.0, f"b{u}") for u in (11, 12, 13)]
    votes += [(13, 0, 1.0, "wrong"), (13, 1, 0.0, "c"), (13, 2, 0.0, "d")]
    links = weighed(votes)
    assert (13, 10, 1.0, "b13") in links
    assert not any(name == "wrong" for *_, name in links)
