"""A small workspace in which everything lies that `storage/inventory.py` declares, made by the stages in this process."""

from dataclasses import replace
from pathlib import Path

import distributed
import numpy as np
from PIL import Image

from cccount_dist.campaign.inputs import load_inputs
from cccount_dist.campaign.sidewords import SIDES_FILE, OneSide, SideFigures
from cccount_dist.individuals.census import Individuals
from cccount_dist.kinds.subcluster.prepared import find_lists, lists_job, options_of
from cccount_dist.review.annotators import Annotators
from cccount_dist.sampling.methods import METHODS
from cccount_dist.sampling.packing import blob_name
from storage.campaigns import CampaignFolder
from storage.gold import write_gold
from storage.handouts import Handout, Handouts
from storage.individuals import add_known
from storage.lease import Lease
from storage.picturecache import PictureCache
from storage.schema import GOLD, KNOWN_PAIRS, KNOWN_PICTURES, PREVIOUS, PREVIOUS_FEATURES, SIMILARITY
from storage.scratch import write_arrays
from storage.snapshots import BLOBS
from storage.stamp import stamped
from storage.upgrade import upgrade
from storage.workspace import Workspace
from tests.flows.calls import browse, embed, initialise, matches, neighbors, stage, write_reports
from tests.flows.conftest import digits
from tests.storage.rows import numbered

ITEMS = 60


def everything(home: Path) -> Path:
    """Return a workspace with everything in it."""
    place = str(home / "ws")
    photos = home / "photos"
    for number, (row, label) in enumerate(list(zip(*digits(), strict=True))[:ITEMS]):
        path = photos / str(label) / f"{number:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((row.reshape(8, 8) * 15).astype(np.uint8)).resize((32, 32)).save(path)
    initialise(place, images=str(photos), labels="folder")
    with (
        distributed.LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        embed(place, encoder="hog", components=8, client=client)
        neighbors(place, k=5, client=client)
        matches(place, client=client)
    workspace = Workspace.open(place)
    workspace.create_array(SIMILARITY, (ITEMS, ITEMS), attributes={}).write_shard(0, np.ones((ITEMS, ITEMS), np.float16))
    shape = (ITEMS, 3, 4)
    workspace.create_array(PREVIOUS_FEATURES, shape, attributes={}).write_shard(0, np.ones(shape, np.int8))
    workspace.create_array(PREVIOUS, (ITEMS, 2), attributes={}).write_shard(0, np.ones((ITEMS, 2), np.float32))
    _campaigns(workspace)
    for name in ("ana", "bo"):
        Annotators(workspace).add(name)
    write_gold(workspace, GOLD.schema.empty_table().from_pylist([{"u": 0, "v": 1, "value": 0.0, "origin": "me"}], GOLD.schema))
    _individuals(workspace)
    _sides(workspace)
    _disposable(workspace)
    _upgraded(workspace)
    return home / "ws"


def _individuals(workspace: Workspace) -> None:
    individuals = Individuals.open(workspace.location, "group")
    first = individuals.write().individuals[0]
    for text in ("Luna", "Luna II"):
        individuals.name(first.individual, text, annotator="ana")
    pictures = {"item": [0], "name": ["Luna"], "side": ["left"], "origin": ["me"]}
    pairs = {"u": [0], "v": [1], "value": [0.0], "origin": ["me"]}
    add_known(workspace, lambda *_: (KNOWN_PICTURES.table(pictures), KNOWN_PAIRS.table(pairs)))


def _campaigns(workspace: Workspace) -> None:
    place = workspace.location
    for budget in (10, 20, 30):
        stage("count", place, "count", oracle="labels", budget=budget)
    folder = CampaignFolder(workspace, "count")
    folder.log.compact(most_parts=1)
    with folder.journal() as journal:
        journal.record(numbered(0, 20))
    handouts = Handouts(folder.handouts_path)
    handouts.hand_out([Handout(f"sheet {n}", "ana", 1e10, "pair", n, ((n, n + 1),)) for n in range(20)])
    handouts.close()
    data = bytes(range(256))
    folder.snapshots.write("sampler", [(blob_name(data), data)], lambda: {BLOBS: [blob_name(data)]})
    stage("cluster", place, "group", method="hacc", clusters=5, oracle="labels", budget=10)
    stage("subcluster", place, campaign="sub", clusters=5, size=3, oracle="labels", budget=10)
    with METHODS.having("count/nis", replace(METHODS.get("count/nis"), revision=1)):
        stage("count", place, "older", method="nis", oracle="labels", budget=10)
    with METHODS.having("count/nis", replace(METHODS.get("count/nis"), revision=2)):
        stage("advance", place, "older")
    write_reports(place, None)
    browse(place, "sub")
    picked = CampaignFolder(workspace, "sub")
    job = lists_job(picked, load_inputs(workspace), options_of(picked.settings()))
    for shard in job.create().missing():
        find_lists(job, shard)


def _upgraded(workspace: Workspace) -> None:
    """Once it was of format 1."""
    lines = workspace.objects.read("workspace.toml").decode().splitlines(keepends=True)
    older = "".join(line for line in lines if not line.startswith("#")).replace("format = 2", "format = 1")
    workspace.objects.replace("workspace.toml", stamped("workspace.toml", older.encode()))
    upgrade(workspace.location)


def _sides(workspace: Workspace) -> None:
    side = OneSide(estimate=10.0, low=10.0, high=10.0)
    figures = SideFigures(of_side={"left": side, "right": side}, least=10.0, most=18.0, joined=2)
    CampaignFolder(workspace, "group").write_result(SIDES_FILE, figures.stored())


def _disposable(workspace: Workspace) -> None:
    workspace.objects.replace(".init", b"")
    PictureCache(workspace.cache_folder()).put("0123456789abcdef.jpg", bytes(range(200)))
    part = workspace.scratch("neighbors-0123456789abcdef") / "0-0"
    write_arrays(part, np.arange(20.0))
    Lease.acquire(workspace.objects, ".scratch/neighbors.json").release()  # in an object store; on a disk it is a lock
