"""JCC and RWCP of groupings with labels, what a campaign cost, and a metric that subclusters do not work with."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.clustering.agreement import jcc, rwcp
from tests.flows.conftest import cccount, digits


def test_jcc_and_rwcp_stand_in_json_and_report_of_a_grouping_with_labels(workspace: Path, labels: NDArray[np.int64]) -> None:
    import pyarrow.parquet as pq

    done = cccount("cluster", workspace, "--budget", "40", "--oracle", "labels", "--json")
    assert done.code == 0, done.err
    found = pq.read_table(done.json["labels"]).column("cluster").to_numpy()
    assert done.json["jcc"] == pytest.approx(jcc(labels, found))
    assert done.json["rwcp"] == pytest.approx(rwcp(labels, found))
    shown = cccount("report", workspace, "--campaign", "cluster", "--price", "0.05")
    assert shown.code == 0, shown.err
    page = (workspace / "campaigns/cluster/results/report.html").read_text()
    assert f"JCC {done.json['jcc']:.3f}, RWCP {done.json['rwcp']:.3f}" in page
    assert "At 0.05 a question that is 2.00." in page


def test_every_kind_says_what_its_answers_cost(workspace: Path) -> None:
    for command in (("count", "--budget", "40"), ("subcluster", "--clusters", "10", "--size", "3", "--budget", "20")):
        done = cccount(command[0], workspace, *command[1:], "--oracle", "labels", "--json")
        assert done.code == 0, done.err
    assert cccount("report", workspace, "--price", "0.1").code == 0
    results = workspace / "campaigns"
    assert "At 0.1 a question that is 4.00." in (results / "count/results/report.html").read_text()
    assert "At 0.1 a question that is 2.00." in (results / "subcluster/results/browse.html").read_text()


def test_subclusters_of_a_euclidean_workspace_are_refused_before_a_campaign_exists(tmp_path: Path) -> None:
    x, y = digits()
    np.savez(tmp_path / "digits.npz", x=x[:60], y=y[:60])
    place = tmp_path / "ws"
    assert cccount("init", place, "--embeddings", tmp_path / "digits.npz").code == 0
    assert cccount("neighbors", place, "--k", "5", "--metric", "euclidean", "--workers", "1").code == 0
    refused = cccount("subcluster", place, "--clusters", "10", "--oracle", "labels")
    assert refused.code == 1
    assert "subcluster works with cosine or correlation" in refused.line
    assert not (place / "campaigns").exists()
