"""Grouping campaigns through the front door: labels for every item, growing budgets, people, settings that hold."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from cccount_dist import Campaign, Response
from cccount_dist.campaign.inputs import load_inputs
from cccount_dist.clustering.agreement import ari, nmi
from cccount_dist.clustering.evidence.evidence_sampler import EvidenceSampler
from cccount_dist.clustering.methods import grouping_methods
from cccount_dist.kinds.cluster.runner import ClusterRunner
from cccount_dist.sampling.ledger import GOLD, OUTSIDE, LoggedAnswer
from cccount_dist.sampling.logged import answers_table
from cccount_dist.sampling.types import SAME
from storage.campaigns import CampaignFolder
from storage.errors import CorruptionError, InputError
from storage.workspace import Workspace
from tests.flows.calls import ClusterOptions, CountOptions, advance, cluster, count, grouped, status, verify
from tests.flows.conftest import cccount

SAME_OR_DIFFERENT = grouping_methods(ratings=False)  # the others: test_ratings.py


def simulated(method: str, budget: int, **options: object) -> ClusterOptions:
    clusters = 10 if method == "hacc" else None
    return ClusterOptions(method=method, budget=budget, oracle="labels", **{"clusters": clusters, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("method", SAME_OR_DIFFERENT)
def test_every_item_gets_a_label_and_answers_improve_them(workspace: Path, labels: NDArray[np.int64], method: str) -> None:
    place = str(workspace)
    start = cluster(place, "g", simulated(method, 0))
    reached = cluster(place, "g", simulated(method, 60))
    table = pq.read_table(reached["labels"])
    assert table.column("item").to_pylist() == list(range(len(labels)))
    found = table.column("cluster").to_numpy()
    assert found.min() == 0
    assert len(np.unique(found)) == reached["clusters"]
    assert reached["nmi"] == pytest.approx(nmi(labels, found))
    assert reached["ari"] == pytest.approx(ari(labels, found))
    assert reached["questions"] <= 60
    assert reached["nmi"] > max(0.6, start["nmi"] - 0.02)
    assert verify(place)["ok"]


@pytest.mark.parametrize("method", SAME_OR_DIFFERENT)
def test_a_larger_budget_goes_on_as_if_it_had_been_given_at_once(workspace: Path, method: str) -> None:
    place = str(workspace)
    cluster(place, "grown", simulated(method, 20))
    grown = cluster(place, "grown", simulated(method, 40))
    at_once = cluster(place, "once", simulated(method, 40))
    assert {**grown, "campaign": "", "labels": ""} == {**at_once, "campaign": "", "labels": ""}
    assert pq.read_table(grown["labels"]).equals(pq.read_table(at_once["labels"]))
    assert advance(place, "grown") == grown


def test_people_group_what_is_ready(workspace: Path, labels: NDArray[np.int64]) -> None:
    place = str(workspace)
    waiting = cluster(place, "g", ClusterOptions(method=grouping_methods()[0], budget=12))
    assert waiting["state"] == "waiting"
    campaign = Campaign.open(place, "g")
    for _ in range(20):
        questions = campaign.ask(100)
        campaign.tell(Response(q.id, float(labels[q.u] == labels[q.v])) for q in questions)
        waiting = advance(place, "g")
        if waiting["state"] != "waiting":
            break
    assert waiting["state"] == "done"
    assert waiting["questions"] == 12
    row = status(place)["campaigns"][0]
    assert row["result"]["clusters"] == waiting["clusters"]


def _gold(workspace: Path, wrong: int) -> None:
    """Thirty answers to pairs that were known, some of them wrong."""
    rows = [LoggedAnswer(f"gold-{i}", OUTSIDE, 2 * i, 2 * i + 1, float(i >= wrong), GOLD[SAME], "ana") for i in range(30)]
    CampaignFolder(Workspace.open(workspace), "g").log.append_answers(answers_table(rows))


@pytest.mark.parametrize("wrong", [0, 9])
def test_gold_answers_of_the_log_reach_the_evidence_and_the_campaign_replays(workspace: Path, wrong: int) -> None:
    place = str(workspace)
    cluster(place, "g", simulated("evidence", 20))
    _gold(workspace, wrong)
    reached = cluster(place, "g", simulated("evidence", 40))
    assert advance(place, "g") == reached
    folder = CampaignFolder(Workspace.open(workspace), "g")
    with folder.lease() as lease:
        sampler = ClusterRunner(folder, lease, load_inputs(folder.workspace)).sampler
    assert isinstance(sampler, EvidenceSampler)
    assert sampler.rates.miss == pytest.approx((1 + wrong) / 50)
    assert sampler.rates.false_same == 0.05


def test_apc_takes_answers_as_true_and_says_so_where_people_are_measured_to_err(workspace: Path) -> None:
    place = str(workspace)
    assert cluster(place, "g", simulated("apc", 20))["warning"] is None
    _gold(workspace, 3)
    assert "3 of 30 answers to pairs that were known are wrong" in advance(place, "g")["warning"]


def test_a_campaign_ends_when_answers_no_longer_change_its_groups(workspace: Path) -> None:
    reached = cluster(str(workspace), "g", simulated("evidence", 400, parameter=("steady=20",)))
    assert (reached["state"], reached["questions"] < 200) == ("done", True)
    assert reached["steady_answers"] >= 20
    assert f"The last {reached['steady_answers']} answers left the groups as they were." in grouped(reached)


def test_settings_are_frozen(workspace: Path) -> None:
    place = str(workspace)
    cluster(place, "g", simulated("hacc", 5))
    with pytest.raises(InputError, match="--clusters 10, not 9"):
        cluster(place, "g", simulated("hacc", 6, clusters=9))
    assert cluster(place, "g", ClusterOptions(clusters=10, budget=6, oracle="labels"))["questions"] == 6, (
        "hacc, as it was started"
    )
    with pytest.raises(InputError, match="is a cluster campaign"):
        count(place, "g", CountOptions(budget=5))
    with pytest.raises(InputError, match="--clusters must be at least 1"):
        ClusterOptions(clusters=0)


def test_the_command_groups_and_says_so(workspace: Path) -> None:
    shown = cccount(
        "cluster", workspace, "--method", "hacc", "--clusters", "10", "--budget", "10", "--oracle", "labels", "--json"
    )
    assert shown.code == 0, shown.err
    assert {"campaign", "method", "clusters", "questions", "inferred", "state", "labels", "nmi", "ari"} <= set(shown.json)
    assert "groups" in cccount("status", workspace).out
    shown = cccount("cluster", workspace, "--campaign", "e", "--budget", "10", "--oracle", "labels")
    assert "As a count: about" in shown.out


def test_more_clusters_than_items_are_refused_before_a_campaign_is_frozen(workspace: Path) -> None:
    with pytest.raises(InputError, match="clusters is 99999, but"):
        cluster(str(workspace), "many", simulated("hacc", 5, clusters=99_999))
    assert not CampaignFolder(Workspace.open(workspace), "many").exists


def test_hacc_takes_the_estimate_of_the_count_with_most_answers_and_says_so(
    workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(workspace)
    with pytest.raises(InputError, match="or run `cccount count` first"):
        cluster(place, "too-early", ClusterOptions(method="hacc", budget=5, oracle="labels"))
    assert not (workspace / "campaigns/too-early").exists()  # it could never run, and --clusters could not be given later
    count(place, "rough", CountOptions(budget=20, oracle="labels"))
    counted = count(place, "census", CountOptions(budget=150, oracle="labels"))
    reached = cluster(place, "g", ClusterOptions(method="hacc", budget=5, oracle="labels"))
    assert reached["clusters_from"] == "census"
    settings = CampaignFolder(Workspace.open(place), "g").settings()
    assert settings.parameters == {"clusters": round(counted["estimate"]), "clusters_from": "census"}
    assert f"K = {round(counted['estimate'])} is the estimate of the count campaign 'census'" in capsys.readouterr().err
    assert cluster(place, "g", ClusterOptions(method="hacc", budget=8, oracle="labels"))["questions"] == 8


def test_k_means_runs_are_kept_and_the_same_from_workers_and_from_here(workspace: Path) -> None:
    place = str(workspace)
    here, there = cluster(place, "here", simulated("hacc", 8)), cluster(place, "there", simulated("hacc", 8), workers=1)
    assert {**here, "campaign": "", "labels": ""} == {**there, "campaign": "", "labels": ""}
    files = [workspace / "campaigns" / name / "consensus.npz" for name in ("here", "there")]
    kept = [np.load(file)["labels"] for file in files]
    assert kept[0].shape[0] == 100
    assert np.array_equal(*kept)
    assert files[0].stat().st_size < kept[0].nbytes
    files[0].unlink()
    assert advance(place, "here") == here
    files[0].write_bytes(files[0].read_bytes()[:-30])
    with pytest.raises(CorruptionError, match="remove it, it is computed again"):
        advance(place, "here")
    assert not list((workspace / ".scratch").glob("consensus-*"))


def test_parameters_of_the_method_are_frozen_with_the_campaign_and_wrong_ones_refused_before(workspace: Path) -> None:
    place = str(workspace)
    cluster(place, "g", simulated("apc", 5, parameter=("probability=times", "nearest=3", "refit=false")))
    assert CampaignFolder(Workspace.open(place), "g").settings().parameters == {
        "probability": "times", "nearest": 3, "refit": False,
    }  # fmt: skip
    for parameter, message in (("nearest", "write NAME=VALUE"), ("nearest=0", "must be at least 1"), ("far=1", "no parameter")):
        with pytest.raises(InputError, match=message):
            simulated("apc", 5, parameter=(parameter,))
    with pytest.raises(InputError, match="with --parameter nearest=3, not 4"):
        cluster(place, "g", simulated("apc", 6, parameter=("nearest=4",)))
    with pytest.raises(InputError, match=r"without --parameter threshold=0\.5"):
        cluster(place, "g", simulated("apc", 6, parameter=("threshold=0.5",)))
    assert cluster(place, "g", simulated("apc", 6, parameter=("nearest=3",)))["questions"] == 6
    with pytest.raises(InputError, match="finds the number of clusters itself"):
        ClusterOptions(method="evidence", clusters=4)
    with pytest.raises(InputError, match="finds the number of clusters itself"):
        cluster(place, "new", ClusterOptions(clusters=4))
