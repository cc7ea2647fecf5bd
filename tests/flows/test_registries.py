"""Registries are complete: what is registered is documented, a command, a flow, known to verify; names decide nothing."""

import gc
import re
from dataclasses import fields
from pathlib import Path

import pytest

from cccount_dist.campaign.kind import KINDS, CampaignKind, declare_stored
from cccount_dist.options import declared
from cccount_dist.sampling.methods import METHODS, Method
from flows.compute.options import ComputeOptions
from flows.serving.options import ReviewOptions
from flows.stages.benchmarkoptions import BenchmarkOptions
from flows.stages.methods import list_methods
from flows.stages.options import EmbedOptions, ExtendOptions, InitOptions, MatchesOptions, NeighborsOptions
from flows.stages.registry import ADVANCE, stages
from storage.settings import Goal
from storage.stored import declared as declared_as
from tests.flows.conftest import ROOT, cccount

DOCS = "\n".join(path.read_text() for path in sorted((ROOT / "docs").rglob("*.md")))
BY_NAME = re.compile(
    r"""(?<!dtype\.)(?<![\w"])(kind|method)(\.name)?\s*(==|!=|in|not\ in)\s*\(?["']   # a kind or method compared with a name
      | \[["'](count|cluster|subcluster)["']\]""",
    re.VERBOSE,
)
MAY_DECIDE = {"cccount_dist/kinds", "cccount_dist/counting", "cccount_dist/clustering", "cccount_dist/subclustering"}
OTHER_KINDS = {  # `kind` or `method` of something else: of an image file, a part of a page, an HTTP request, a merge of clusters
    "cccount_dist/embedding/encoders/__init__.py",
    "cccount_dist/embedding/readers/tars.py",
    "cccount_dist/review/guard.py",
    "storage/journal.py",
}


@pytest.mark.parametrize("method", list(METHODS), ids=lambda method: f"{method.kind} {method.name}")
def test_a_method_is_documented_and_says_what_may_be_set(method: Method) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(method.name)}(?![\w-])", DOCS), f"{method.name} is in no page of docs/"
    assert method.help.endswith(".")
    for one in declared(method.parameters):
        assert one.option.help, one.name
        assert one.rule
        assert one.checked(one.default, method.name, method.parameters.wording) == one.default
    facts = next(one for one in list_methods().methods if (one.kind, one.name) == (method.kind, method.name))
    assert set(facts.__slots__) >= {"name", "kind", "needs", "paper", "parameters"}


@pytest.mark.parametrize("kind", list(KINDS), ids=lambda kind: kind.name)
def test_a_kind_is_a_command_a_flow_and_known_to_verify(kind: CampaignKind[object]) -> None:  # type: ignore[type-var]
    from flows.orchestration.scheduled import FLOWS

    declare_stored()
    assert f"Example: cccount {kind.name}" in kind.help
    assert kind.name in stages()
    assert set(FLOWS[kind.name].parameters.properties) >= {"workspace", "campaign", "budget", "oracle", "seed"}
    for spec in kind.tables:
        assert len(declared_as(f"campaigns/c/results/{spec.name}.parquet")) == 1
        assert f"{spec.name}.parquet" in (ROOT / "docs/reference/workspace.md").read_text()
    assert {"answers", "questions", "state"} <= set(kind.course.schema.names)
    assert set(kind.shown) <= set(kind.course.schema.names)


@pytest.mark.parametrize(
    "options",
    [*(kind.options for kind in KINDS), ComputeOptions, EmbedOptions, ExtendOptions, InitOptions, MatchesOptions,
     NeighborsOptions, ReviewOptions, BenchmarkOptions],
    ids=lambda options: options.__name__,
)  # fmt: skip
def test_every_option_has_its_line_of_help_and_a_default_that_is_allowed(options: type) -> None:
    for one in declared(options):
        assert one.option.help, one.name
        assert one.option.help.endswith((".", "…")), one.name
        assert one.checked(one.default, "", options.wording) == one.default  # type: ignore[attr-defined]


def test_every_stage_is_a_command_with_all_its_options() -> None:
    for name, stage in stages().items():
        shown = cccount(name, "--help")
        assert shown.code == 0, shown.err
        for one in stage.parameters:
            assert f"--{one.flag}" in shown.out, (name, one.name)


def test_what_a_goal_has_can_be_said() -> None:
    said = {one.name for kind in KINDS for one in declared(kind.options)}
    assert said >= {one.name for one in fields(Goal)}


def _sources() -> list[Path]:
    return [path for package in ("storage", "cccount_dist", "flows") for path in sorted((ROOT / package).rglob("*.py"))]


def test_nothing_is_decided_by_the_name_of_a_kind_or_method_outside_its_own_folder() -> None:
    found = {}
    for path in _sources():
        name = str(path.relative_to(ROOT))
        if name in OTHER_KINDS or any(name.startswith(f"{room}/") for room in MAY_DECIDE):
            continue
        if lines := [line.strip() for line in path.read_text().splitlines() if BY_NAME.search(line) and ">>>" not in line]:
            found[name] = lines
    assert not found


def test_plain_mappings_do_not_cross_the_borders_of_flows() -> None:
    kept = [f"{path.name}: {line}" for path in _sources() if "flows" in path.parts for line in path.read_text().splitlines()
            if "dict[str, Any]" in line]  # fmt: skip
    assert len(kept) <= 10, kept
    assert all("#" in line for line in kept), "each says why"


def test_a_step_leaves_pythons_search_for_cycles_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    before = gc.get_threshold()
    during = []
    monkeypatch.setattr("flows.stages.campaigns.advance_campaign", lambda *_, **__: during.append(gc.get_threshold()))
    ADVANCE("nowhere", "census")
    assert during[0][0] > before[0]
    assert gc.get_threshold() == before
