"""Counts without people, and the parameters of the methods that they stand beside, from the command line."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist.campaign.inputs import load_inputs
from cccount_dist.counting.baselines.together import kmeans_accuracy
from storage.workspace import Workspace
from tests.flows.conftest import cccount


def test_every_count_without_people_is_shown_with_what_k_means_makes_of_it(workspace: Path, labels: NDArray[np.int64]) -> None:
    done = cccount("baselines", workspace, "--json")
    assert done.code == 0, done.err
    found = {row["method"]: row for row in done.json["counts"]}
    assert list(found) == ["mean-shift", "connected components", "k-means, elbow", "the labels"]
    assert found["the labels"]["clusters"] == 10
    vectors = load_inputs(Workspace.open(str(workspace))).vectors
    assert found["the labels"]["accuracy"] == pytest.approx(kmeans_accuracy(vectors, labels, 10.0))
    assert all(1 <= row["clusters"] <= 480 and 0.0 < row["accuracy"] <= 1.0 for row in found.values())
    assert "10  the labels  (k-means with it: accuracy" in cccount("baselines", workspace).out


def test_baselines_that_are_told_k_are_measured_beside_each_other(workspace: Path) -> None:
    done = cccount("baselines", workspace, "--budget", "60", "--size", "4", "--json")
    assert done.code == 0, done.err
    asked = {row["method"]: row["questions"] for row in done.json["counts"] if "questions" in row}
    assert list(asked) == ["unique entity estimation"]
    assert asked["unique entity estimation"] <= 60
    groups = {row["method"]: row for row in done.json["groupings"]}
    assert list(groups) == ["random-p", "random-s", "ffqs", "npu", "urasc", "cobra", "np3"]
    assert all(row["questions"] <= 60 and 0.0 < row["jcc"] <= row["rwcp"] + 1 for row in groups.values())
    subclusters = {row["method"]: row for row in done.json["subclusters"]}
    assert list(subclusters) == ["fast-pam", "clarans", "k-medoids", "normalised-cut", "bbc-s"]
    assert all(0.0 <= row["sjc"] <= 1.0 for row in subclusters.values())
    curve = done.json["elbow"]
    assert [point["clusters"] for point in curve] == sorted(point["clusters"] for point in curve)
    assert curve[0]["objective"] > curve[-1]["objective"]
    refused = cccount("baselines", workspace, "--budget", "60", "--clusters", "900")
    assert "clusters is 900, but 480 items" in refused.line


def test_the_similarities_of_the_paper_are_chosen_by_name_and_frozen_with_the_campaign(workspace: Path) -> None:
    estimates = {}
    for name in ("metric", "soft", "softmax"):
        start = ("count", workspace, "--campaign", name, "--method", "nis", "--budget", "120", "--oracle", "labels", "--json")
        done = cccount(*start, "--parameter", f"similarity={name}", "--parameter", "ratio=5")
        assert done.code == 0, done.err
        estimates[name] = done.json["estimate"]
    assert len(set(estimates.values())) == 3
    again = cccount("count", workspace, "--campaign", "soft", "--parameter", "ratio=6", "--oracle", "labels")
    assert again.code == 1
    assert "was started with --parameter ratio=5, not 6" in again.line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--method", "nis", "--parameter", "tau=0.5"],
            "nis has no parameter 'tau': it has similarity, ratio, alpha, uniform; tau is there with",
        ),
        (["--method", "nis", "--parameter", "ratio=0"], "ratio of nis must be above 0, not 0"),
        (["--method", "inverse", "--parameter", "alpha"], "--parameter 'alpha': write NAME=VALUE"),
        (["--method", "pckmeans-explore", "--parameter", "clusters=481"], "clusters is 481, but 480 items have a vector"),
        (["--parameter", "ratio=5"], "placing has --grid, --wrong-answers and --search"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_refused_before_a_campaign_exists(
    workspace: Path, options: list[str], message: str
) -> None:
    done = cccount("count", workspace, "--oracle", "labels", *options)
    assert done.code == 1
    assert message in done.line
    assert not (workspace / "campaigns").exists()
