"""A campaign with snapshots is the campaign without, bit for bit; lost, damaged, old, foreign and hostile ones cost only time."""

import json
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cccount_dist import Campaign, Response
from cccount_dist.campaign import snapshots, standing_still
from cccount_dist.campaign.runner import CampaignRunner
from cccount_dist.kinds.cluster.runner import ClusterRunner
from cccount_dist.kinds.count.runner import CountRunner
from cccount_dist.kinds.subcluster.runner import SubclusterRunner
from cccount_dist.options import Value
from storage.campaigns import CampaignFolder
from storage.objects import LocalObjects
from storage.stamp import stamped
from storage.workspace import Workspace
from tests.flows.calls import verify

Labels = NDArray[np.int64]
KINDS: dict[str, tuple[str, dict[str, Value]]] = {
    "placing": ("count", {}),
    "pages": ("count", {"parameter": ("grid=8", "lanes=4")}),
    "nis": ("count", {"method": "nis"}),
    "evidence": ("cluster", {}),
    "apc": ("cluster", {"method": "apc"}),
    "hacc": ("cluster", {"method": "hacc", "clusters": 10, "parameter": ("runs=10",)}),
    "catalogue": ("cluster", {"method": "catalogue"}),
    "ratings": ("cluster", {"method": "iu-red", "clusters": 10}),
    "subclusters": ("subcluster", {"clusters": 10, "size": 3}),
}
CAMPAIGN = "c"


@pytest.fixture(autouse=True)
def _always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step writes a snapshot, however little it saves."""
    monkeypatch.setattr(snapshots, "WORTH_SECONDS", -1.0)
    monkeypatch.setattr(snapshots.SamplerSnapshots, "worked", lambda self, seconds: setattr(self, "_work", 1e9))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a step was taken, and how often a sampler was built from its inputs."""
    counts = [0, 0]
    step, load = CampaignRunner.step, snapshots.SamplerSnapshots.load

    def counted_step(self: CampaignRunner[Any], **more: Any) -> Any:
        counts[0] += 1
        return step(self, **more)

    def counted_load(self: snapshots.SamplerSnapshots) -> Any:
        found = load(self)
        counts[1] += found is None
        return found

    monkeypatch.setattr(CampaignRunner, "step", counted_step)
    monkeypatch.setattr(snapshots.SamplerSnapshots, "load", counted_load)
    return counts


def folder_of(workspace: Path) -> Path:
    return workspace / "campaigns" / CAMPAIGN / "snapshot"


def forget(workspace: Path) -> None:
    shutil.rmtree(folder_of(workspace), ignore_errors=True)


def begun(workspace: Path, kind: str, options: dict[str, Value]) -> Campaign:
    return Campaign.create(str(workspace), CAMPAIGN, kind, budget=2000, oracle="people", **options)


def people(campaign: Campaign, labels: Labels, chance: random.Random) -> None:
    """Somebody answers some questions, in any order; wrong and unsure now and then, and takes one back."""
    waiting = sorted(campaign.ask(10_000), key=lambda question: question.id)
    chance.shuffle(waiting)
    given = []
    for question in waiting[: 1 + len(waiting) * chance.randint(1, 9) // 10]:
        same, luck = float(labels[question.u] == labels[question.v]), chance.random()
        value = None if luck < 0.1 else 1.0 - same if luck < 0.15 else same
        value = 0.1 + 0.8 * value if value is not None and question.kind == "rating" else value
        given.append(Response(question.id, value, chance.choice(["ana", "bo"]), 2.0, id=f"{question.id}-{chance.random()}"))
    campaign.tell(given)
    if given and chance.random() < 0.4:
        campaign.undo(given[0].id, annotator=given[0].annotator, id=f"undo {given[0].id}")


def course(
    workspace: Path, kind: str, options: dict[str, Value], labels: Labels, before: Callable[[int], None] = lambda _: None
) -> list[object]:
    """What the steps of a campaign say, in which every step is a new process's."""
    said: list[object] = []
    begun(workspace, kind, options)
    for number in range(7):
        before(number)
        campaign = Campaign.open(str(workspace), CAMPAIGN)
        said.append(json.dumps(campaign.advance().json()).replace(str(workspace), "here"))
        people(campaign, labels, random.Random(number))
    log = CampaignFolder(Workspace.open(workspace), CAMPAIGN).log
    return [*said, log.questions().drop_columns(["asked_at"]), log.answers().drop_columns(["answered_at"])]


@pytest.fixture(scope="module")
def courses() -> dict[str, list[object]]:
    """What was said in courses that nobody disturbed, by name: each is gone through once."""
    return {}


@pytest.fixture
def undisturbed(
    courses: dict[str, list[object]], prepared: Path, tmp_path: Path, labels: Labels, _always: None
) -> Callable[[str], list[object]]:
    def of(name: str) -> list[object]:
        if name not in courses:
            courses[name] = course(Path(shutil.copytree(prepared, tmp_path / "undisturbed")), *KINDS[name], labels)
        return courses[name]

    return of


@pytest.mark.parametrize("name", list(KINDS))
def test_a_campaign_with_snapshots_is_the_one_without(
    name: str, prepared: Path, tmp_path: Path, labels: Labels, built: list[int], courses: dict[str, list[object]]
) -> None:
    kind, options = KINDS[name]
    one, other = (Path(shutil.copytree(prepared, tmp_path / place)) for place in ("with", "without"))
    kept = courses[name] = course(one, kind, options, labels)
    assert built == [7, 1], "a snapshot was not taken"
    assert kept == course(other, kind, options, labels, lambda _: forget(other))
    assert built == [14, 8]
    assert verify(str(one))["problems"] == []


def flip(path: Path, chance: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def blobs(workspace: Path, name: str = "sampler") -> list[Path]:
    """The data of a document, the smallest first."""
    named = json.loads((folder_of(workspace) / f"{name}.json").read_bytes())["blobs"]
    return sorted((folder_of(workspace) / "data" / f"{one}.bin" for one in named), key=lambda path: path.stat().st_size)


def largest(workspace: Path) -> Path:
    return blobs(workspace)[-1]


def flip_data(workspace: Path, chance: random.Random) -> None:
    flip(chance.choice(blobs(workspace)), chance)


def flip_document(workspace: Path, chance: random.Random) -> None:
    flip(folder_of(workspace) / "sampler.json", chance)


def cut(workspace: Path, chance: random.Random) -> None:
    path = chance.choice([largest(workspace), folder_of(workspace) / "sampler.json"])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def lose(workspace: Path, chance: random.Random) -> None:
    largest(workspace).unlink()


@pytest.mark.parametrize("damage", [flip_data, flip_document, cut, lose])
@pytest.mark.parametrize("name", ["placing", "evidence", "apc", "catalogue"])
def test_a_damaged_snapshot_changes_nothing_and_is_named(
    name: str,
    damage: Callable[[Path, random.Random], None],
    prepared: Path,
    tmp_path: Path,
    labels: Labels,
    undisturbed: Callable[[str], list[object]],
    built: list[int],
) -> None:
    kind, options = KINDS[name]
    one, expected = Path(shutil.copytree(prepared, tmp_path / "damaged")), undisturbed(name)
    built[:] = [0, 0]
    chance, named = random.Random(3), []

    def harm(number: int) -> None:
        if number:
            damage(one, chance)
            named.append([problem for problem in verify(str(one))["problems"] if "/snapshot/" in problem["path"]])

    assert course(one, kind, options, labels, harm) == expected
    assert built[1] == 7, "a damaged snapshot was taken"
    assert all(named), "verify says nothing"
    assert all("the next step that needs it makes it again" in problem["repair"] for found in named for problem in found)
    assert verify(str(one))["problems"] == [], "the next step did not make it again"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The samplers that were made from vectors and neighbours."""
    names: list[str] = []
    for runner in (CountRunner, ClusterRunner, SubclusterRunner):

        def counted(self: CampaignRunner[Any], make: Callable[[Any], Any] = runner.make_sampler) -> Any:
            names.append(self.settings.method)
            return make(self)

        monkeypatch.setattr(runner, "make_sampler", counted)
    return names


@pytest.mark.parametrize("name", ["placing", "evidence", "apc", "hacc", "catalogue", "subclusters"])
def test_what_is_prepared_is_computed_once(
    name: str,
    prepared: Path,
    tmp_path: Path,
    labels: Labels,
    undisturbed: Callable[[str], list[object]],
    made: list[str],
) -> None:
    """A log that has to be replayed starts from it; lost or damaged, it is computed again, and nothing else changes."""
    kind, options = KINDS[name]
    one, expected = Path(shutil.copytree(prepared, tmp_path / "one")), undisturbed(name)
    made.clear()

    def replayed(number: int) -> None:
        for document in ("sampler", "last"):
            (folder_of(one) / f"{document}.json").unlink(missing_ok=True)
        if number == 4:
            (folder_of(one) / "prepared.json").unlink()
        if number == 5:
            flip(folder_of(one) / "prepared.json", random.Random(1))
        if number == 6 and (found := blobs(one, "prepared")):
            flip(found[0], random.Random(2))
            said = [problem["repair"] for problem in verify(str(one))["problems"]]
            assert said
            assert all("makes it again" in repair for repair in said)

    assert course(one, kind, options, labels, replayed) == expected
    assert len(made) == 1 + 2 + bool(blobs(one, "prepared"))
    assert verify(str(one))["problems"] == []


@pytest.mark.parametrize("method", ["evidence", "catalogue"])
def test_an_old_and_a_foreign_snapshot_are_not_taken(
    method: str, prepared: Path, tmp_path: Path, labels: Labels, built: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, third = (Path(shutil.copytree(prepared, tmp_path / place)) for place in ("a", "b", "c"))

    def older(number: int) -> None:
        """Of another release, or in another format."""
        monkeypatch.setattr(snapshots, "_code", lambda *_: f"release {number // 2}")
        monkeypatch.setattr(snapshots, "FORMAT", (number + 1) // 2)

    def foreign(number: int) -> None:
        if number:
            forget(third)
            shutil.copytree(folder_of(one), folder_of(third))

    options: dict[str, Value] = {"method": method, "seed": 1}
    expected = course(other, "cluster", options, labels)
    assert course(one, "cluster", options, labels, older) == expected
    assert built == [14, 8]
    monkeypatch.undo()
    shutil.rmtree(one / "campaigns")
    course(one, "cluster", {**options, "seed": 2}, labels)
    assert course(third, "cluster", options, labels, foreign) == expected


def test_a_snapshot_of_a_log_that_went_another_way_is_not_taken(workspace: Path, labels: Labels, built: list[int]) -> None:
    begun(workspace, "cluster", {})
    campaign = Campaign.open(str(workspace), CAMPAIGN)
    campaign.advance()
    beginning = Path(shutil.copytree(workspace / "campaigns" / CAMPAIGN, workspace.parent / "beginning"))
    people(campaign, labels, random.Random(1))
    campaign.advance()
    later = Path(shutil.copytree(folder_of(workspace), workspace.parent / "later"))
    shutil.rmtree(workspace / "campaigns" / CAMPAIGN)
    shutil.copytree(beginning, workspace / "campaigns" / CAMPAIGN)
    forget(workspace)
    shutil.copytree(later, folder_of(workspace))
    people(Campaign.open(str(workspace), CAMPAIGN), labels, random.Random(2))
    before = built[1]
    Campaign.open(str(workspace), CAMPAIGN).advance()
    assert built[1] == before + 1


def test_with_nothing_new_no_step_is_taken(workspace: Path, labels: Labels, built: list[int]) -> None:
    for kind in ("count", "cluster", "subcluster"):
        forget(workspace)
        shutil.rmtree(workspace / "campaigns", ignore_errors=True)
        begun(workspace, kind, {"clusters": 10} if kind == "subcluster" else {})
        first = Campaign.open(str(workspace), CAMPAIGN).advance()
        taken = built[0]
        again = Campaign.open(str(workspace), CAMPAIGN).advance()
        assert (again, again.json(), again.words()) == (first, first.json(), first.words())
        assert built[0] == taken
        people(Campaign.open(str(workspace), CAMPAIGN), labels, random.Random(0))
        third = Campaign.open(str(workspace), CAMPAIGN).advance()
        assert built[0] == taken + 1
        assert third != first
        taken = built[0]
        assert Campaign.open(str(workspace), CAMPAIGN).advance() == third
        assert built[0] == taken


@pytest.mark.parametrize("what", ["goal", "result", "other", "code"])
def test_whatever_a_step_would_see_makes_it_a_step(
    what: str, workspace: Path, labels: Labels, built: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(workspace, "cluster", {})
    campaign = Campaign.open(str(workspace), CAMPAIGN)
    campaign.advance()
    people(campaign, labels, random.Random(0))
    campaign.advance()
    if what == "goal":
        Campaign.create(str(workspace), CAMPAIGN, "cluster", budget=2001, oracle="people")
    elif what == "result":
        (workspace / "campaigns" / CAMPAIGN / "results/labels.parquet").unlink()
    elif what == "code":
        monkeypatch.setattr(snapshots, "_code", lambda *_: "another release")
    else:
        Campaign.create(str(workspace), "other", "count", budget=9, oracle="people")
    before = built[0]
    Campaign.open(str(workspace), CAMPAIGN).advance()
    assert built[0] == before + 1
    assert (workspace / "campaigns" / CAMPAIGN / "results/labels.parquet").exists()
    Campaign.open(str(workspace), CAMPAIGN).advance()
    assert built[0] == before + 1


def test_a_damaged_last_outcome_is_not_believed(workspace: Path, built: list[int]) -> None:
    begun(workspace, "count", {})
    first = Campaign.open(str(workspace), CAMPAIGN).advance()
    path = folder_of(workspace) / f"{standing_still.NAME}.json"
    path.write_bytes(path.read_bytes().replace(b'"waiting"', b'"stopped"'))
    assert Campaign.open(str(workspace), CAMPAIGN).advance() == first
    assert built[0] == 2
    path.write_bytes(
        stamped("a.json", json.dumps({**json.loads(path.read_bytes()), "outcome": ["object", "os:system", {}, []]}).encode())
    )
    assert Campaign.open(str(workspace), CAMPAIGN).advance() == first
    assert built[0] == 3


def test_a_finished_campaign_of_a_release_that_said_less_is_advanced_anew(workspace: Path, built: list[int]) -> None:
    """Its inputs are others now, so the last outcome would be said again; it lacks a field that this release has."""
    campaign = Campaign.create(str(workspace), CAMPAIGN, "cluster", budget=20, oracle="labels")
    campaign.advance(to_the_end=True)
    path = workspace / "campaigns" / CAMPAIGN / "results" / standing_still.FINISHED
    kept = json.loads(path.read_bytes())
    kept["seen"] |= {"inputs": {"embeddings": "others"}}
    forget(workspace)
    path.write_bytes(stamped("a.json", json.dumps(kept).encode()))
    assert Campaign.open(str(workspace), CAMPAIGN).advance(to_the_end=True).state == "done"
    taken = built[0]
    del kept["outcome"][2]["glances"]
    path.write_bytes(stamped("a.json", json.dumps(kept).encode()))
    assert Campaign.open(str(workspace), CAMPAIGN).advance(to_the_end=True).json()["glances"] == 0
    assert built[0] == taken + 1


class Killed(BaseException):
    """The end of a process, at a write."""


@pytest.mark.parametrize("name", ["placing", "apc", "evidence", "catalogue"])
def test_a_step_that_is_killed_at_any_write_changes_nothing(
    name: str,
    prepared: Path,
    tmp_path: Path,
    labels: Labels,
    undisturbed: Callable[[str], list[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind, options = KINDS[name]
    one, expected = Path(shutil.copytree(prepared, tmp_path / "killed")), undisturbed(name)
    written, chance, fatal = LocalObjects._written, random.Random(7), [10**9]

    @contextmanager
    def mortal(self: LocalObjects, key: str, data: bytes) -> Iterator[Path]:
        with written(self, key, data) as temporary:
            if not key.endswith("lease.json"):  # a dead process lets go of its lease
                fatal[0] -= 1
                if not fatal[0]:
                    raise Killed
            yield temporary

    def kill(number: int) -> None:
        for _ in range(3):
            fatal[0] = chance.randint(1, 9)
            with suppress(Killed):
                Campaign.open(str(one), CAMPAIGN).advance()
        fatal[0] = 10**9

    monkeypatch.setattr(LocalObjects, "_written", mortal)
    assert course(one, kind, options, labels, kill) == expected
    assert verify(str(one))["problems"] == []
