"""`cccount run`: one file does all of it, again it does nothing, killed anywhere it ends with the same bytes; wrong files."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from flows.stages.jobexample import example
from flows.stages.jobfile import Job
from flows.stages.jobsections import CAMPAIGN, SECTIONS
from flows.stages.tomllines import Where, lines_of
from storage.campaigns import CampaignFolder
from storage.errors import InputError
from storage.schema import ESTIMATES, LABELS
from storage.workspace import Workspace
from tests.flows.conftest import ROOT, cccount, digits, environment, files_of

KILLS = 10
IMAGES = """\
workspace = "ws"
[collection]
images = "photos"
labels = "labels.npy"
[compute]
workers = 1
[embed]
encoder = "hog"
[neighbors]
k = 5
[[campaign]]
method = "nis"
oracle = "labels"
budget = 120
[[campaign]]
name = "groups"
kind = "cluster"
oracle = "labels"
budget = 24
"""
VECTORS = """\
workspace = "kept/ws"
[collection]
embeddings = "../vectors/digits.npz"
[compute]
workers = 1
[neighbors]
k = 10
[[campaign]]
method = "nis"
oracle = "labels"
budget = 200
[campaign.parameters]
ratio = 5
[[campaign]]
name = "people"
method = "nis"
budget = 40
"""


def folder_of_images(folder: Path) -> None:
    (folder / "photos").mkdir(parents=True)
    for number, row in enumerate(digits()[0][:120]):
        picture = (row.reshape(8, 8) * 15).astype(np.uint8)
        Image.fromarray(picture).resize((32, 32)).save(folder / f"photos/{number:03d}.png")
    np.save(folder / "labels.npy", digits()[1][:120])
    (folder / "job.toml").write_text(IMAGES)


def stages_of(found: dict[str, object]) -> dict[str, str]:
    stages = found["stages"]
    assert isinstance(stages, list)
    return {one.get("campaign", one["stage"]): one["state"] for one in stages}


def log_of(workspace: Path, campaign: str) -> tuple[pa.Table, pa.Table]:
    """Questions and answers without what the clock says."""
    log = CampaignFolder(Workspace.open(workspace), campaign).log
    return log.questions().drop_columns(["asked_at"]), log.answers().drop_columns(["answered_at"])


def kept(workspace: Path) -> dict[str, bytes]:
    """Every file that a second run must leave as it is: all but leases, locks, caches and snapshots."""
    return {
        name: data
        for name, data in files_of(workspace).items()
        if not name.endswith("lease.json") and not any(part.startswith(".") or part == "snapshot" for part in name.split("/"))
    }


def shards_of(workspace: Path) -> dict[str, bytes]:
    """The collection and every shard of every array."""
    files = kept(workspace)
    return {
        name: data
        for name, data in files.items()
        if name == "collection.parquet" or (".zarr/" in name and not name.endswith("zarr.json"))
    }


def require_same(found: Path, expected: Path) -> None:
    """Everything that was computed and asked is the same; what the clock says, and the random identities of arrays, are not."""
    mine, theirs = shards_of(found), shards_of(expected)
    assert mine.keys() == theirs.keys()
    assert [name for name in theirs if mine[name] != theirs[name]] == []
    assert any(name.startswith("embeddings.zarr/") for name in theirs)
    assert any(name.startswith("neighbors.zarr/") for name in theirs)
    for campaign in ("count", "groups"):
        for one, other in zip(log_of(found, campaign), log_of(expected, campaign), strict=True):
            assert one.equals(other), campaign
    labels = [CampaignFolder(Workspace.open(place), "groups").read_table(LABELS) for place in (found, expected)]
    assert labels[0].equals(labels[1])
    rows = [CampaignFolder(Workspace.open(place), "count").read_table(ESTIMATES).to_pylist()[-1] for place in (found, expected)]
    for name in ("answers", "questions", "inferred", "estimate", "low", "high", "state"):
        assert rows[0][name] == rows[1][name], name


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """The job on images, undisturbed; and how long it took."""
    folder = tmp_path_factory.mktemp("whole")
    folder_of_images(folder)
    began = time.monotonic()
    shown = cccount("run", folder / "job.toml", "--json", fresh=True)  # as long as those that are killed
    assert shown.code == 0, shown.err
    assert stages_of(shown.json) == {
        "init": "done", "embed": "done", "neighbors": "done", "count": "done", "groups": "done", "report": "done",
    }  # fmt: skip
    assert [(one["campaign"], one["state"]) for one in shown.json["campaigns"]] == [("count", "done"), ("groups", "done")]
    return folder, time.monotonic() - began


def test_run_again_it_does_nothing(whole: tuple[Path, float]) -> None:
    folder, _ = whole
    before = kept(folder / "ws")
    shown = cccount("run", "job.toml", "--json", cwd=folder)
    assert shown.code == 0, shown.err
    assert set(stages_of(shown.json).values()) == {"skipped"}
    assert kept(folder / "ws") == before
    assert (folder / "ws/campaigns/count/results/report.html").exists()


def test_a_job_that_is_killed_at_ten_moments_ends_with_the_same_bytes(whole: tuple[Path, float], tmp_path: Path) -> None:
    expected, duration = whole
    # The same images at the same place: a collection knows where they are.
    text = IMAGES.replace('"photos"', f'"{expected}/photos"').replace('"labels.npy"', f'"{expected}/labels.npy"')
    job = tmp_path / "job.toml"
    job.write_text(text)
    moments = random.Random(7)
    killed = 0
    while killed < KILLS:
        command = [sys.executable, "-m", "flows", "run", str(job)]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(command, env=environment(), stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(timeout=moments.uniform(0.1, 0.7) * duration)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
            continue
        assert code == 0, (tmp_path / "log").read_text()
        require_same(tmp_path / "ws", expected / "ws")
        shutil.rmtree(tmp_path / "ws")  # once more from the beginning: ten kills are wanted
    shown = cccount("run", job, "--json")
    assert shown.code == 0, shown.err
    require_same(tmp_path / "ws", expected / "ws")
    assert cccount("verify", tmp_path / "ws", "--json").json["ok"]


def test_given_vectors_relative_paths_parameters_and_people(tmp_path: Path) -> None:
    x, y = digits()
    (tmp_path / "vectors").mkdir()
    (tmp_path / "jobs").mkdir()
    np.savez(tmp_path / "vectors/digits.npz", x=x, y=y)
    job = tmp_path / "jobs/census.toml"
    job.write_text(VECTORS)
    shown = cccount("run", "jobs/census.toml", "--json", cwd=tmp_path)
    assert shown.code == 0, shown.err
    place = tmp_path / "jobs/kept/ws"
    assert shown.json["workspace"] == str(place)
    assert stages_of(shown.json)["embed"] == "skipped"
    assert CampaignFolder(Workspace.open(place), "count").settings().parameters["ratio"] == 5
    assert [one["state"] for one in shown.json["campaigns"]] == ["done", "waiting"]
    # A larger budget in the file goes on; a seed that is another is refused at its line, and nothing changes.
    job.write_text(VECTORS.replace("budget = 200", "budget = 260"))
    shown = cccount("run", job, "--json")
    assert stages_of(shown.json) == {
        "init": "skipped", "embed": "skipped", "neighbors": "skipped", "count": "resumed", "people": "skipped", "report": "done",
    }  # fmt: skip
    assert shown.json["campaigns"][0]["questions"] == 260
    before = kept(place)
    job.write_text(VECTORS.replace("budget = 200", "seed = 3"))
    shown = cccount("run", job)
    assert shown.code == 1
    assert shown.line.startswith(f"cccount: {job}:11: campaign 'count' was started with seed 0, not 3")
    np.savez(tmp_path / "vectors/digits.npz", x=x[::-1], y=y[::-1])
    job.write_text(VECTORS)
    shown = cccount("run", job)
    assert shown.line.startswith(f"cccount: {job}:2: {place} holds other vectors than {tmp_path}/vectors/digits.npz")
    assert kept(place) == before


def test_other_images_than_those_of_the_workspace_are_refused(whole: tuple[Path, float], tmp_path: Path) -> None:
    folder, _ = whole
    before = kept(folder / "ws")
    (tmp_path / "photos").mkdir()
    for path in sorted((folder / "photos").iterdir())[:9]:
        shutil.copy(path, tmp_path / "photos")
    (tmp_path / "job.toml").write_text(f'workspace = "{folder}/ws"\n[collection]\nimages = "photos"\n')
    shown = cccount("run", tmp_path / "job.toml")
    assert shown.code == 1
    assert f"job.toml:2: {folder}/ws was made from another collection than {tmp_path}/photos" in shown.line
    text = IMAGES.replace('"ws"', f'"{folder}/ws"').replace('"labels.npy"', f'"{folder}/labels.npy"')
    shutil.copytree(folder / "photos", tmp_path / "more")
    (tmp_path / "job.toml").write_text(text.replace('"photos"', '"more"'))
    assert "was made from another collection" in cccount("run", tmp_path / "job.toml").line
    assert kept(folder / "ws") == before


def test_ratings_need_neither_vectors_nor_neighbours(tmp_path: Path) -> None:
    folder_of_images(tmp_path)
    rating = '[[campaign]]\nkind = "cluster"\nmethod = "iu-red"\nclusters = 2\noracle = "labels"\nbudget = 20\n'
    (tmp_path / "job.toml").write_text(f'workspace = "ws"\n[collection]\nimages = "photos"\nlabels = "labels.npy"\n{rating}')
    shown = cccount("run", tmp_path / "job.toml", "--json")
    assert shown.code == 0, shown.err
    assert stages_of(shown.json) == {
        "init": "done", "embed": "skipped", "neighbors": "skipped", "cluster": "done", "report": "done",
    }  # fmt: skip
    (tmp_path / "job.toml").write_text(
        f'workspace = "ws"\n[collection]\nimages = "photos"\n[compute]\ncompute = "tcp://host:1"\n{rating}'
    )
    assert "job.toml:4: [compute] is of no use to this job" in cccount("run", tmp_path / "job.toml").line


GOOD = 'workspace = "ws"\n[collection]\nimages = "photos"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('workspace = "ws"\n[collection]\nimage = "photos"\n', "3: [collection] has no key 'image': did you mean images?"),
        (GOOD + "[neighbors]\nk = 'ten'\n", "5: k of [neighbors] must be at least 1, not 'ten'"),
        (GOOD + "[neighbors]\nk = 0\n", "5: k of [neighbors] must be at least 1, not 0"),
        (GOOD + '[neighbors]\nmetric = "taxi"\n', "5: there is no metric 'taxi': use one of cosine"),
        (GOOD + "[neighbors]\n\n# many\nworkers = 2\n", "7: [neighbors] has no key 'workers': workers is of [compute]"),
        (GOOD + '[neighbors]\nengine = "approximate"\nstore_similarity = true', "6: store_similarity is gone: similarities are"),
        (GOOD + "[embed]\nstrict = 1\n", "5: strict of [embed] must be true or false, not 1"),
        (GOOD + '[embed]\nencoder = "magic"\n', "5: there is no encoder 'magic': choose"),
        (GOOD + "embed = 3\n", "4: [collection] has no key 'embed'"),
        ("embed = 3\n" + GOOD, "1: embed must be a section: write [embed] on a line of its own"),
        ('[collection]\nimages = "photos"\n', '1: workspace is missing: write workspace = "census"'),
        ('workspace = "ws"\n', "1: [collection] is missing"),
        ('workspace = "ws"\n[collection]\nlabels = "y.npy"\n', "2: give exactly one of images, manifest"),
        (GOOD + 'embeddings = "x.npy"\n', "3: give exactly one of images, manifest"),
        (GOOD + "[colour]\nred = 1\n", "4: the file has no key 'colour': it has workspace, [collection], [compute]"),
        (GOOD + "[campaign]\nbudget = 3\n", "4: campaign must be written [[campaign]], with two brackets"),
        (GOOD + "[[campaign]]\n[[campaign]]\nbudget = 3\n", "5: there are two campaigns of the name 'count'"),
        (GOOD + '[[campaign]]\n[[campaign]]\nname = "count"\n', "6: there are two campaigns of the name 'count'"),
        (GOOD + '[[campaign]]\nname = "a/b"\n', "5: a campaign's name is letters"),
        (GOOD + '[[campaign]]\nkind = "sing"\n', "5: there is no kind of campaign 'sing' (there are: cluster, count"),
        (GOOD + '[[campaign]]\nmethod = "magic"\n', "5: counting method 'magic' is not known: use one of auto, placing, nis"),
        (GOOD + "[[campaign]]\nbudget = -1\n", "5: budget of [[campaign]] of the kind count must be 0 or more, not -1"),
        (GOOD + "[[campaign]]\nbudgte = 1\n", "5: [[campaign]] of the kind count has no key 'budgte': did you mean budget?"),
        (GOOD + '[[campaign]]\noracle = "labels"\noverlap = 2\n', "5: overlap is for oracle people"),
        (
            GOOD + '[[campaign]]\nmethod = "nis"\n[campaign.parameters]\nx = 1\n',
            "7: nis has no parameter 'x': it has similarity, ratio",
        ),
        (GOOD + '[[campaign]]\nmethod = "nis"\n[campaign.parameters]\nratio = [1]\n', "7: ratio of [campaign.parameters] must"),
        (GOOD + '[[campaign]]\nkind = "subcluster"\n', "4: the number of subclusters is not known: give clusters K"),
        (GOOD + '[[campaign]]\nkind = "cluster"\nmethod = "hacc"\n', "4: hacc needs the number of clusters: give clusters K"),
        (GOOD + '[[campaign]]\nname = ""\n', "5: a campaign's name is letters"),
        (GOOD + '[[campaign]]\nkind = ""\n', "5: there is no kind of campaign ''"),
        (GOOD + '[compute]\ncompute = "moon"\n', "5: compute takes local, tcp://host:port"),
        (GOOD + '[compute]\ncompute = "tcp://a:1"\nworkers = 2\n', "6: workers and memory_limit are for a local cluster"),
        (GOOD + '[compute]\nmemory_limit = "much"\n', "5: memory_limit takes a size such as 2GiB"),
        (GOOD + '[schedule]\ncron = "often"\n', "5: a schedule has five fields"),
        (GOOD + "[schedule]\nevery = 0\n", "5: every of [schedule] must be above 0, not 0"),
        (GOOD + '[schedule]\nevery = 9\ncron = "* * * * *"\n', "5: give every or cron, not both"),
        (GOOD + "[[campaign]\n", "4: this is not TOML"),
        (GOOD + "k = [1,\n", "4: this is not TOML"),
        (GOOD, "2: there is no folder"),
    ],
)
def test_a_wrong_file_is_one_line_with_its_place_and_nothing_is_written(tmp_path: Path, text: str, said: str) -> None:
    from flows.stages.job import run_job

    path = tmp_path / "job.toml"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        run_job(Job.from_file(path))
    found = " ".join(str(refused.value).split())
    assert found.startswith(f"{path}:{said}"), found
    assert [one.name for one in tmp_path.iterdir()] == ["job.toml"]


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(GOOD + "[neighbors]\nkk = 1\n")
    shown = cccount("run", "job.toml", "--json", cwd=tmp_path)
    assert shown.code == 1
    assert shown.out == ""
    assert shown.err.startswith("cccount: job.toml:5: [neighbors] has no key 'kk': did you mean k? it has k, metric and engine")
    assert shown.err.strip().count("\n") == 0
    shown = cccount("run", "nothing.toml", cwd=tmp_path)
    assert shown.line == "cccount: there is no file nothing.toml: `cccount run --example` prints one to begin with"
    assert cccount("run", cwd=tmp_path).code == 2
    assert [one.name for one in tmp_path.iterdir()] == ["job.toml"]


def test_the_example_is_a_valid_job_and_has_every_key(tmp_path: Path) -> None:
    shown = cccount("run", "--example")
    assert shown.code == 0
    assert shown.out == example()
    (tmp_path / "job.toml").write_text(shown.out)
    job = Job.from_file(tmp_path / "job.toml")
    assert [one.name for one in job.campaigns] == ["count", "cluster", "subcluster"]
    assert job.collection is not None
    assert job.collection.images == str(tmp_path / "photos")
    for section in SECTIONS:
        for one in section.keys:
            assert f"\n# {one.name} = " in shown.out or f"\n{one.name} = " in shown.out
    (tmp_path / "photos").mkdir()
    checked = cccount("run", "job.toml", "--dry-run", "--json", cwd=tmp_path)
    assert checked.json["stages"][-2] == "subcluster subcluster (active)", checked.json
    assert not (tmp_path / "census").exists()


def test_every_commented_key_of_the_example_is_right_when_it_is_uncommented(tmp_path: Path) -> None:
    lines = example().splitlines()
    keys = [place for place, line in enumerate(lines) if line.startswith("# ") and " = " in line and "<" not in line]
    keys = [place for place in keys if not lines[place].startswith("# repeats")]  # of methods that ask for ratings
    assert len(keys) > 25
    for place in keys:
        changed = [*lines[:place], lines[place].removeprefix("# "), *lines[place + 1 :]]
        (tmp_path / "job.toml").write_text("\n".join(changed))
        Job.from_file(tmp_path / "job.toml")


def test_the_file_in_the_documentation_is_right(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml[^\n]*\n(.*?)```", (ROOT / "docs/how-to/prefect.md").read_text(), re.DOTALL)
    (tmp_path / "job.toml").write_text(block)
    job = Job.from_file(tmp_path / "job.toml")
    assert [(one.name, one.options.chosen.name) for one in job.campaigns] == [("individuals", "placing"), ("cluster", "apc")]


def test_lines_are_those_of_the_statements() -> None:
    text = '# a\na.b = 1\n\n[s]  # x = 3\ny = """\nz = 1\n"""\nw = { q = 1 }\n[[c]]\n[c.p]\nk = 1\n'
    text += '[[c]]\n"k k" = [\n  "k = 2",\n]\nm = 2\n'
    tomllib.loads(text)
    found = lines_of(text)
    assert found[("a", "b")] == 2
    assert found[("s",)] == 4
    assert ("s", "x") not in found
    assert found[("s", "y")] == 5
    assert ("s", "z") not in found
    assert found[("s", "w", "q")] == 8
    assert found[("c", 0)] == 9
    assert found[("c", 0, "p", "k")] == 11
    assert found[("c", 1)] == 12
    assert found[("c", 1, "k k")] == 13
    assert found[("c", 1, "m")] == 16
    assert lines_of("") == {(): 1}


def test_a_refusal_names_keys_and_leaves_commands_alone() -> None:
    where = Where("job.toml", {(): 1, ("neighbors",): 4, ("neighbors", "usual_k"): 6})
    with pytest.raises(InputError, match=r"^job.toml:6: usual_k is large: see `cccount neighbors --help`$"):
        where.explain(("neighbors",), InputError("--usual-k is large: see `cccount neighbors --help`"))


def test_what_a_flow_is_told_makes_the_same_job(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(VECTORS)
    job = Job.from_file(tmp_path / "job.toml")
    again = Job.read(job.content, Where("pipeline", {}))
    assert again.content == job.content
    assert [(one.name, one.options) for one in again.campaigns] == [(one.name, one.options) for one in job.campaigns]
    assert (again.collection, again.compute, again.neighbors) == (job.collection, job.compute, job.neighbors)
    with pytest.raises(InputError, match=r"^pipeline: \[neighbors\] has no key 'kk'"):
        Job.read({**job.content, "neighbors": {"kk": 1}}, Where("pipeline", {}))
    assert CAMPAIGN in job.content
