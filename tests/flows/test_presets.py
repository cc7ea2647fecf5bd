"""A preset is declared once, with its method, and is there for commands, job files, flows, Python, benchmarks and `methods`."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from cccount_dist import ClusterCounter, PairwiseClusterer
from cccount_dist.campaign.kind import KINDS
from cccount_dist.options import declared
from cccount_dist.sampling.methods import METHODS, PAPER, Method, find_method
from flows.stages.benchmark import make_plan
from flows.stages.benchmarkoptions import BenchmarkOptions
from flows.stages.jobfile import Job
from flows.stages.methods import list_methods
from storage.errors import InputError
from tests.flows.conftest import cccount

WITH_PAPER = {"nis", "nested-mc", "apc", "hacc", "iu-red", "iu-red-pure", "s-and-t", "active"}


@pytest.mark.parametrize("method", [one for one in METHODS if one.presets], ids=lambda one: f"{one.kind} {one.name}")
def test_a_preset_is_made_of_parameters_that_the_method_has(method: Method) -> None:
    for name in method.presets:
        expanded = method.preset(name)
        assert expanded
        assert set(expanded) <= {one.name for one in declared(method.parameters)}
        method.read(expanded)


def test_every_method_of_a_paper_that_is_not_a_baseline_has_the_preset_paper() -> None:
    assert {one.name for one in METHODS if PAPER in one.presets} >= WITH_PAPER


def test_a_method_without_the_preset_says_which_ones_have_it() -> None:
    with pytest.raises(InputError, match=r"placing has no preset 'paper': it has none; paper is a preset of nis and nested-mc$"):
        find_method("count", "placing").preset(PAPER)
    with pytest.raises(InputError, match=r"nis has no preset 'book': it has paper$"):
        find_method("count", "nis").preset("book")


def test_what_is_given_by_name_wins_and_hides_what_the_preset_said_beside_it() -> None:
    nis = find_method("count", "nis")
    assert "sigma" in nis.preset(PAPER)
    assert "sigma" not in nis.preset(PAPER, {"similarity": "metric"})


@pytest.mark.parametrize("kind", [one.name for one in KINDS])
def test_every_kind_takes_a_preset(kind: str) -> None:
    assert "preset" in {one.name for one in declared(KINDS.get(kind).options)}


def test_the_list_of_methods_shows_presets() -> None:
    (facts,) = list_methods("nis").methods
    assert facts.presets[PAPER]["uniform"] == 0.0
    assert "--preset paper: " in list_methods("nis").words()


def test_the_benchmark_takes_presets_and_parameters() -> None:
    plan = make_plan("nis", BenchmarkOptions(methods="nis", preset=PAPER, parameter=("ratio=5",)))
    assert (plan.parameters["uniform"], plan.parameters["ratio"]) == (0.0, 5)
    with pytest.raises(InputError, match=r"--parameter wings=: none of nis has it"):
        make_plan("nis", BenchmarkOptions(methods="nis", parameter=("wings=2",)))


def test_a_job_file_takes_a_preset(tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    file.write_text('workspace = "w"\n[[campaign]]\nkind = "count"\nmethod = "nis"\npreset = "paper"\n')
    (campaign,) = Job.from_file(file).campaigns
    assert campaign.options.parameters()["uniform"] == 0.0


def test_python_takes_a_preset() -> None:
    x, y = np.random.default_rng(0).normal(size=(40, 5)), np.repeat(np.arange(4), 10)
    x[np.arange(40), y] += 6.0

    def oracle(u: int, v: int) -> bool:
        return bool(y[u] == y[v])

    metric = {"similarity": "metric"}
    counter = ClusterCounter(method="nis", preset=PAPER, budget=28, parameters=metric).fit(x, oracle=oracle)
    same = ClusterCounter(method="nis", budget=28, parameters={"uniform": 0.0, **metric}).fit(x, oracle=oracle)
    other = ClusterCounter(method="nis", budget=28).fit(x, oracle=oracle)
    assert counter.interval_ == same.interval_ != other.interval_
    with pytest.raises(InputError, match="evidence has no preset 'paper'"):
        PairwiseClusterer(preset=PAPER).fit(x, oracle=oracle)


def test_a_campaign_keeps_its_preset_and_what_it_stands_for(workspace: Path) -> None:
    command = ("count", workspace, "--campaign", "p", "--method", "nis", "--preset", "paper", "--oracle", "labels")
    done = cccount(*command, "--budget", "28", "--parameter", "ratio=6", "--json")
    assert done.json["method"] == "nis"
    said = tomllib.loads((workspace / "campaigns/p/campaign.toml").read_text())
    assert said["preset"] == "paper"
    assert (said["parameters"]["uniform"], said["parameters"]["ratio"]) == (0.0, 6)
    assert cccount(*command, "--budget", "30").code == 0
    refused = cccount(*command[:-4], "--preset", "book", "--oracle", "labels")
    assert "was started with --preset paper, not book" in refused.err
    other = cccount("count", workspace, "--campaign", "q", "--preset", "paper", "--oracle", "labels")
    assert other.code == 1
    assert "placing has no preset 'paper'" in other.err
