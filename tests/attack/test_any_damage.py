"""Any damage to a whole file, for every reader and importer that there is: a result, or one of our errors in one line.

The corpus (`corpus.py`) has hostile files that somebody thought of; here hypothesis thinks of them. `SEEDS` lists the readers.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flows.compute.profiles import Profile
from flows.orchestration.recording import server_url
from storage.errors import CccountError
from storage.identity import read_identity
from storage.settings import Goal, Settings
from storage.tokens import read_tokens
from tests.attack.corpus import (
    APART,
    COCO,
    GOLD,
    GOOD,
    JOB,
    KNOWN,
    PACK,
    PAIRED,
    ROUNDS,
    _tar,
    as_json,
    camtraps,
    graph_bytes,
    npy_bytes,
    npz_bytes,
    picture,
    table_bytes,
)
from tests.attack.test_hostile_files import READ
from tests.review.campaigns import make_folder, pairs

# As with the corpus: CCCOUNT_ATTACK=20 in the environment tries twenty times as many.
QUICK = settings(
    max_examples=20 * ROUNDS, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None
)
Read = Callable[[Path, Path], object]
Edits = list[tuple[float, int, bytes]]

# Where it is hurt (0 to 1), how many bytes are taken away there, and what is put in their place.
EDITS = st.lists(
    st.tuples(
        st.floats(0.0, 1.0), st.integers(0, 6), st.binary(max_size=6) | st.sampled_from([b"NaN", b"-1", b"1e999", b"[", b'"'])
    ),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, edits: Edits) -> bytes:
    for at, taken, put in edits:
        place = int(at * len(data))
        data = data[:place] + put + data[place + taken :]
    return data


def prefect_profile(path: Path, _: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_PROFILES_PATH", str(path))
        patch.delenv("PREFECT_API_URL", raising=False)
        return server_url()


TABLE = {"path": ["0.png", "1.png"], "id": ["a", "b"], "bbox": ["0,0,5,5", ""], "label": ["x", "y"]}
ROWS = [{"question_id": n, "u": n, "v": n + 6, "value": 1.0, "annotator": "ana"} for n in range(3)]
STUDIO = [{"id": 1, "data": {"question_id": 0}, "annotations": [{"id": 7, "result": [{"value": {"choices": ["same"]}}]}]}]
TOKENS = json.dumps({"ana": {"salt": "00" * 16, "digest": "00" * 32}}).encode()
PROFILE = b"kind = 'local'\nwait_seconds = 60\n[cluster]\nn_workers = 2\n[adapt]\nminimum = 1\n"
WILDLIFE = b"path,identity,orientation\nx/image 0,Luna,left\nx/image 1,Ben,right\nx/image 2,unknown,\n"
OBSERVED = b"observationID,mediaID,individualID\nimage 0,m0,Luna\nimage 1,m1,\n"
SIDES = b"path;id;side\n0.png;a;left\n1.png;b;both\n2.png;c;R\n"
PREFECT = b"active = 'here'\n[profiles.here]\nPREFECT_API_URL = 'http://127.0.0.1:4200/api'\n"


def text_reader(read: Callable[[bytes, str], object]) -> Read:
    return lambda path, _: read(path.read_bytes(), "it")


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def csv(table: dict[str, list[str]]) -> bytes:
    return "\n".join(";".join(cells) for cells in [list(table), *zip(*table.values(), strict=True)]).encode()


WORKSPACE: dict[str, Callable[[bytes, str], object]] = {
    "workspace.toml": read_identity,
    "campaigns/c/campaign.toml": Settings.from_toml,
    "campaigns/c/goal.toml": Goal.from_toml,
}
# Every reader and importer: the name of a file, its whole content, and what reads it.
SEEDS: dict[str, tuple[str, bytes, Read]] = {
    "collection: csv": ("m.csv", csv(TABLE), READ["manifest"]),
    "collection: parquet": ("m.parquet", table_bytes(pa.table(TABLE)), READ["manifest"]),
    "collection: jsonl": ("m.jsonl", lines([{"path": "0.png", "bbox": [0, 0, 5, 5]}, {"path": "1.png"}]), READ["manifest"]),
    "collection: COCO": ("c.json", as_json(COCO).encode(), READ["coco"]),
    "collection: WebDataset tar": ("a.tar", _tar({"0.json": b'{"label": "x"}'}), READ["images"]),
    "vectors: npy": ("x.npy", npy_bytes(GOOD), READ["vectors"]),
    "vectors: npz": ("x.npz", npz_bytes(x=npy_bytes(GOOD), y=npy_bytes(np.arange(6))), READ["vectors"]),
    "vectors: parquet": ("x.parquet", table_bytes(pa.table({"v": GOOD.tolist()})), READ["vectors"]),
    "distances: npy": ("d.npy", npy_bytes(APART), READ["distances"]),
    "distances: npz": ("d.npz", graph_bytes(), READ["distances"]),
    "distances: parquet": ("d.parquet", table_bytes(pa.table(PAIRED)), READ["distances"]),
    "labels: npy": ("y.npy", npy_bytes(np.arange(6)), READ["labels"]),
    "labels: csv": ("y.csv", b"label\n" + b"a\nb\n" * 3, READ["labels"]),
    "labels: parquet": ("y.parquet", table_bytes(pa.table({"label": list("ababab")})), READ["labels"]),
    "answers: csv": ("a.csv", b"question_id,u,v,value,annotator\n0,0,6,1,ana\n1,1,7,0,ana\n", READ["answers"]),
    "answers: json": ("a.json", as_json(ROWS).encode(), READ["answers"]),
    "answers: parquet": ("a.parquet", table_bytes(pa.Table.from_pylist(ROWS)), READ["answers"]),
    "answers: pack": ("a.json", as_json(PACK).encode(), READ["answers"]),
    "answers: Label Studio": ("a.json", as_json(STUDIO).encode(), READ["answers"]),
    "gold: json": ("g.json", as_json(GOLD).encode(), READ["gold"]),
    "gold: csv": ("g.csv", b"u,v,value\n0,6,1\n1,7,0\n", READ["gold"]),
    "catalogue: table": ("a.json", as_json(KNOWN).encode(), READ["catalogue"]),
    "catalogue: wildlife-datasets": ("a.csv", WILDLIFE, READ["catalogue"]),
    "catalogue: pairs u, v": ("a.csv", b"id_u,id_v,value\nimage 6,image 7,same\nimage 8,image 9,0\n", READ["catalogue"]),
    "catalogue: Camtrap DP": ("observations.csv", OBSERVED, lambda path, home: READ["catalogue"](path.parent, home)),
    "places": ("a.csv", b"place,latitude,longitude,start\nford,-3.5,29.8,2026-01-01\n", READ["places"]),
    "facts: bursts": ("a.csv", b"id,burst\nimage 0,1\nimage 1,1\nimage 2,2\n", READ["encounters"]),
    "facts: cameras": ("a.csv", b"camera,opposite\nford,hill\n", READ["cameras"]),
    "facts: deaths": ("a.csv", b"name,died\nLuna,2026-05-03\nBen,9999-12-31\n", READ["deaths"]),
    "collection: sides": ("m.csv", SIDES, READ["manifest"]),
    "run file": ("job.toml", JOB.encode(), READ["job"]),
    "annotators.json": ("annotators.json", TOKENS, text_reader(read_tokens)),
    "compute profile": ("p.toml", PROFILE, lambda path, _: Profile.read(str(path))),
    "Prefect's profiles": ("profiles.toml", PREFECT, prefect_profile),
}


def complaint(read: Callable[[], object]) -> str | None:
    """What else than a result or one of our errors came out; None if nothing did."""
    try:
        read()
    except CccountError as error:
        return f"not one line: {error}" if "\n" in str(error).strip() else None
    except Exception as error:  # noqa: BLE001 (whatever it is, it should not have come out)
        return f"{type(error).__name__}: {error}"
    return None


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder beside a campaign that takes answers, as `READ` expects it."""
    root = tmp_path_factory.mktemp("damage")
    make_folder(root / "asked", pairs(6), items=20)
    picture(root / "asked.png")
    return root


@pytest.mark.timeout(120)
@pytest.mark.parametrize("reader", SEEDS)
@QUICK
@given(edits=EDITS)
def test_any_damage_to_a_whole_file_is_explained(home: Path, reader: str, edits: Edits) -> None:
    name, whole, read = SEEDS[reader]
    place = Path(tempfile.mkdtemp(dir=home))
    try:
        for number in range(3):
            os.link(home / "asked.png", place / f"{number}.png")
        (place / name).write_bytes(damaged(whole, edits))
        assert complaint(lambda: read(place / name, place)) is None
    finally:
        shutil.rmtree(place)


@pytest.mark.parametrize("reader", SEEDS)
def test_the_seed_of_a_reader_is_what_it_reads(home: Path, reader: str) -> None:
    """Damage to something that was never understood would show nothing."""
    name, whole, read = SEEDS[reader]
    place = Path(tempfile.mkdtemp(dir=home))
    for number in range(3):
        picture(place / f"{number}.png")
    (place / name).write_bytes(whole)
    refused = complaint_of(lambda: read(place / name, place))
    assert refused is None, refused


def complaint_of(read: Callable[[], object]) -> str | None:
    try:
        read()
    except CccountError as error:
        return str(error)
    return None


@pytest.mark.timeout(120)
@pytest.mark.parametrize("which", ["zarr.json", "c/0/0"])
@QUICK
@given(edits=EDITS)
def test_any_damage_to_a_zarr_array_is_explained(home: Path, which: str, edits: Edits) -> None:
    place = Path(tempfile.mkdtemp(dir=home))
    try:
        array = zarr.create_array(place / "x.zarr", shape=GOOD.shape, chunks=(2, 4), dtype="f4")
        array[...] = GOOD
        part = place / "x.zarr" / which
        part.write_bytes(damaged(part.read_bytes(), edits))
        assert complaint(lambda: READ["vectors"](place / "x.zarr", place)) is None
    finally:
        shutil.rmtree(place)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("which", ["datapackage.json", "media.csv", "observations.csv"])
@QUICK
@given(edits=EDITS)
def test_any_damage_to_a_camera_trap_package_is_explained(home: Path, which: str, edits: Edits) -> None:
    place = Path(tempfile.mkdtemp(dir=home))
    (place / "files").mkdir()
    try:
        folder = next(case for case in camtraps() if case.name == "camtrap: whole").write(place / "files")
        (folder / which).write_bytes(damaged((folder / which).read_bytes(), edits))
        assert complaint(lambda: READ["images"](folder, place)) is None
    finally:
        shutil.rmtree(place)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("which", WORKSPACE)
@QUICK
@given(edits=EDITS)
def test_any_damage_to_a_small_file_of_a_workspace_is_explained(home: Path, which: str, edits: Edits) -> None:
    data = damaged((home / "asked" / which).read_bytes(), edits)
    assert complaint(lambda: WORKSPACE[which](data, which)) is None
