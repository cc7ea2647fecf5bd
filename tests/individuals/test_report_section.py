"""The report shows who was seen, after a count as after a grouping, and writes nothing by that."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.gallery import make_gallery
from cccount_dist.campaign.noun import Noun
from cccount_dist.campaign.reporting import is_current, refresh_report
from cccount_dist.individuals.census import Individuals
from cccount_dist.report.individualsection import individuals_section, seen_individuals
from flows.exchange.catalogue import import_catalogue
from storage.individuals import IDENTITIES_KEY
from storage.schema import GROUPINGS
from tests.individuals.made import BEGAN, add_campaign, make_census

ANIMAL = Noun("butterfly", "butterflies")


def test_after_a_count_the_report_shows_those_that_were_seen(tmp_path: Path) -> None:
    workspace = make_gallery(tmp_path, items=16)
    seen = add_campaign(workspace, "count", [item % 8 if item < 12 else -1 for item in range(16)], kind="count")
    page = individuals_section(seen_individuals(seen.folder, workspace.collection()), ANIMAL)
    assert "The 8 butterflies that were seen" in page
    assert page.count("<img") == 8
    assert workspace.objects.size(IDENTITIES_KEY) is None  # a report only reads


def test_names_are_escaped_and_the_catalogue_is_compared(tmp_path: Path) -> None:
    workspace = make_gallery(tmp_path, items=16)
    individuals = add_campaign(workspace, "groups", [item % 8 for item in range(16)])
    individuals.census()
    individuals.name(1, "<b>Luna", annotator="ana")
    ids = workspace.collection().ids
    (tmp_path / "known.csv").write_text(f"id,name\n{ids[1]},Sol\n{ids[2]},Ida\n{ids[10]},Ida\n")
    import_catalogue(workspace.location, str(tmp_path / "known.csv"))
    page = individuals_section(seen_individuals(individuals.folder, workspace.collection()), ANIMAL)
    assert "The 8 butterflies" in page
    assert "&lt;b&gt;Luna" in page
    assert "1 seen again, 6 new, 1 missing (Ida)" in page


def test_a_report_is_written_again_when_names_or_corrections_changed_in_any_campaign(tmp_path: Path) -> None:
    individuals = make_census(tmp_path / "ws")
    folder, other = individuals.folder, add_campaign(individuals.workspace, "other", (0, 0, 0, 1, 1, 2))
    last = {"answers": 0, "questions": 0, "inferred": 0, "clusters": 3, "entropy": 0.0, "state": "done", "refreshed_at": BEGAN}
    folder.write_table(GROUPINGS, pa.Table.from_pylist([last], GROUPINGS.schema))
    refresh_report(folder)
    assert is_current(folder)
    individuals.census()  # who only looks changes nothing that a report shows
    refresh_report(folder)
    steps: tuple[Callable[[], str], ...] = (
        lambda: other.name(1, "Luna", annotator="ana"),
        lambda: other.merge(1, [2], annotator="ana"),
        lambda: other.not_an_animal(5, annotator="ana"),
    )
    for step in steps:
        told = step()
        assert not is_current(folder)
        refresh_report(folder)
        assert is_current(folder)
    other.undo(told, annotator="ana")
    assert not is_current(folder)
    refresh_report(folder)
    assert b"Luna" in (folder.read_result("report.html") or b"")


def test_a_collection_without_pictures_and_names_has_no_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    individuals = make_census(tmp_path / "ws")
    folder, collection = individuals.folder, individuals.workspace.collection()
    with monkeypatch.context() as patch:  # nor does a step pay for one
        patch.setattr(Individuals, "census", lambda *_, **__: pytest.fail("everybody was listed, and nothing is shown of it"))
        assert seen_individuals(folder, collection) is None
    assert individuals_section(None, ANIMAL) == ""
    individuals.name(1, "Luna", annotator="ana")
    assert "Luna" in individuals_section(seen_individuals(folder, collection), ANIMAL)
