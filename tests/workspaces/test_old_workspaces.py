"""Workspaces that earlier releases wrote: the present code opens them, says the same of them, and goes on as they would have.

`make.py` made each of them together with what its release said of it. A folder that is put beside these is tested, too.
"""

import json
import math
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cccount_dist.sampling.methods import METHODS
from storage import formats, parquet
from storage.campaigns import CampaignFolder
from storage.upgrade import upgrade
from storage.workspace import Workspace
from tests.flows.calls import advance, import_answers, stage, status, verify, write_reports
from tests.flows.test_epochs import check_nothing_was_asked_again

HERE = Path(__file__).parent
STORED = sorted(HERE.glob("*/*.tar.xz"))
CLOCKS = ("asked_at", "answered_at", "refreshed_at")
TABLES = ("questions", "answers")
# Of results that were the same, later releases say more.
SAID_SINCE = re.compile(
    r"(; )?the groups go against [\d,]+ answers?: other answers, or similar items, weigh more; the report shows them$"
)
Json = dict[str, Any]


@dataclass(frozen=True)
class Old:
    """A workspace of a release, with what the release said of it."""

    place: str
    after: Path
    verify: bool
    campaigns: dict[str, Json]


@pytest.fixture(scope="module", params=STORED, ids=lambda file: f"{file.parent.name}-{file.name.split('.')[0]}")
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Old:
    """What is in the archive. Do not write to it."""
    archive: Path = request.param
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    said = json.loads((archive.parent / archive.name.replace(".tar.xz", ".json")).read_text())
    return Old(str(folder / "workspace"), folder / "after", said["verify"], said["campaigns"])


@pytest.fixture(params=["as it is", "upgraded"])
def old(stored: Old, tmp_path: Path, request: pytest.FixtureRequest) -> Old:
    """A copy to go on with."""
    place = shutil.copytree(stored.place, tmp_path / "workspace")
    if request.param == "upgraded":
        done = upgrade(str(place))
        assert done.after == formats.WORKSPACE.present
        assert bool(done.changed) == (done.before != done.after)
        if not done.changed:
            pytest.skip("of the present format: it is as it was")
    return Old(str(place), stored.after, stored.verify, stored.campaigns)


def test_every_release_is_here() -> None:
    assert STORED, "fixtures are files of the repository"


def test_an_old_workspace_stands_where_it_stood(stored: Old, tmp_path: Path) -> None:
    place = str(shutil.copytree(stored.place, tmp_path / "workspace"))
    standing = status(place)["campaigns"]
    assert [one["campaign"] for one in standing] == list(stored.campaigns)
    for found in standing:
        assert differences(found, stored.campaigns[found["campaign"]]["status"]) == []
        assert differences(results(place, found["campaign"]), stored.campaigns[found["campaign"]]["results"]) == []
    assert not damage(place) or not stored.verify
    files = write_reports(place, None)["files"]
    assert len(files) == len(stored.campaigns)
    assert all(Path(file).stat().st_size > 1000 for file in files)


def test_an_old_workspace_goes_on_as_it_would_have(old: Old) -> None:
    """Bit for bit: the same questions and answers in the log, and the same words."""
    found: list[str] = []
    for name, expected in old.campaigns.items():
        step = advance(old.place, name)
        found += [f"advance {name}: {one}" for one in differences(step, expected["advance"])]
        found += [f"advance {name}: {one}" for one in log_differences(old, name, "advanced")]
        if step["state"] != "running":
            before = log_of(old.place, name)
            assert advance(old.place, name) == step, "a second step has nothing to do"
            assert log_of(old.place, name) == before
    assert found == [], "\n".join(found)
    for name, expected in old.campaigns.items():
        further = go_on(old, name, expected)
        found += [f"further {name}: {one}" for one in differences(further, expected["further"])]
        found += [f"further {name}: {one}" for one in log_differences(old, name, "further")]
        found += [f"further {name}: {one}" for one in differences(results(old.place, name), expected["results_further"])]
    assert found == [], "\n".join(found)
    write_reports(old.place, None)
    assert damage(old.place) == []


def test_an_old_workspace_goes_on_in_epochs_where_its_methods_have_other_revisions_now(stored: Old, tmp_path: Path) -> None:
    """Whoever raises a revision changes what is asked next, and nothing of what was said."""
    place = str(shutil.copytree(stored.place, tmp_path / "workspace"))
    for name in stored.campaigns:
        folder = CampaignFolder(Workspace.open(place), name)
        settings, before, said = folder.settings(), len(folder.epochs()), log_of(place, name)["answers"]
        method = f"{settings.kind}/{settings.method}"
        with METHODS.having(method, replace(METHODS.get(method), revision=METHODS.get(method).revision + 1)):
            advance(place, name)
        opened = folder.epochs()[before:]
        assert all("has the revision" in epoch.reason for epoch in opened)
        answers = log_of(place, name)["answers"]
        assert answers[: len(said)] == said
        if opened:
            check_nothing_was_asked_again(Path(place), name)
    write_reports(place, None)
    assert damage(place) == []


def damage(place: str) -> list[Json]:
    """What is wrong with a workspace, beside that the photographs which it was made from did not come along."""
    return [one for one in verify(place)["problems"] if "cccount relocate" not in one["repair"]]


def go_on(old: Old, name: str, expected: Json) -> Json:
    """Give people's answers from the file that the release was given, or a larger budget to a simulation."""
    goal = expected["goal"]
    if goal["oracle"] == "people":
        assert import_answers(old.place, name, str(old.after / f"{name}.csv"))["rejected"] == []
        return advance(old.place, name)
    more = {"budget": goal["budget"] + 40, "oracle": goal["oracle"], "error_rate": goal.get("error_rate", 0.0)}
    return stage(expected["kind"], old.place, name, **more)


def log_of(place: str, name: str) -> dict[str, list[Json]]:
    """Questions and answers of a campaign."""
    log = CampaignFolder(Workspace.open(place), name).log
    return dict(zip(TABLES, (log.questions().to_pylist(), log.answers().to_pylist()), strict=True))


def log_differences(old: Old, name: str, when: str) -> list[str]:
    """Where the log is not what the release wrote, row by row."""
    found = log_of(old.place, name)
    expected = json.loads((old.after / when / f"{name}.json").read_text())
    return [
        one
        for table in TABLES
        for one in (
            [f"{len(found[table])} {table}, not {len(expected[table])}"] * (len(found[table]) != len(expected[table]))
            + [
                f"{table} row {number} {one}"
                for number, rows in enumerate(zip(found[table], expected[table], strict=False))
                for one in differences(*rows)
            ]
        )
    ][:5]


def results(place: str, name: str) -> Json:
    """The tables of a campaign's results as `make.py` wrote them down."""
    tables: Json = {}
    for file in sorted(Path(place, "campaigns", name, "results").glob("*.parquet")):
        table: pa.Table = parquet.from_bytes(file.read_bytes())
        table = table.drop_columns([column for column in table.column_names if column in CLOCKS])
        refreshed = file.stem in ("estimates", "groupings", "subclusterings")
        tables[file.stem] = table.slice(table.num_rows - 1).to_pylist() if refreshed else table.to_pydict()
    return tables


def differences(found: object, expected: object) -> list[str]:
    """Say where what was found is not what is expected; more fields are welcome, missing ones are not."""
    return list(_differences(found, expected, ""))


def _differences(found: object, expected: object, where: str) -> Iterator[str]:
    if isinstance(found, dict) and isinstance(expected, dict):
        for name, value in expected.items():
            if name not in found:
                yield f"{where}{name} is missing"
            else:
                yield from _differences(found[name], value, f"{where}{name}: ")
    elif isinstance(found, list | tuple) and isinstance(expected, list) and len(found) == len(expected):
        for number, pair in enumerate(zip(found, expected, strict=True)):
            yield from _differences(*pair, f"{where}[{number}] ")
    elif isinstance(found, float) and isinstance(expected, float):
        # Other processors add in another order: a result may differ in its last digits, a question may not.
        if not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{where}{found} is not {expected}"
    elif found != expected and (SAID_SINCE.sub("", str(found)) or None) != expected:
        yield f"{where}{found!r} is not {expected!r}"
