"""`cccount init`: every source, and one clear line for every kind of bad input, with nothing left behind."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr

from storage.errors import CccountError, InputError, StoreError
from storage.schema import EMBEDDINGS
from storage.workspace import Workspace
from tests.cccount_dist.embedding.pictures import encoded, noise, write_folder
from tests.flows.calls import initialise


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_folder(tmp_path / "photos", 5)
    return tmp_path / "photos"


def refused(tmp_path: Path, **options: Any) -> str:
    """The one line that `init` answers; nothing may be left of the workspace."""
    target = tmp_path / "refused"
    with pytest.raises(CccountError) as caught:
        initialise(str(target), **options)
    assert not target.exists()
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_a_folder_becomes_a_collection_in_the_order_of_its_paths(folder: Path, tmp_path: Path) -> None:
    (folder / "notes.txt").write_text("not an image")
    (folder / "._a.jpg").write_bytes(b"what macOS leaves behind")
    report = initialise(str(tmp_path / "w"), images=str(folder))
    skipped = report.pop("skipped")
    assert report == {"workspace": str(tmp_path / "w"), "items": 5, "dimensions": None, "labelled": 0, "failed": []}
    assert skipped == {"hidden": 1, ".txt": 1}
    collection = Workspace.open(tmp_path / "w").collection()
    assert collection.ids == ["a/0000.png", "a/0002.png", "a/0004.png", "b/0001.png", "b/0003.png"]
    assert collection.uri(1) == str(folder / "a/0002.png")
    assert collection.labels() is None


def test_folder_names_are_labels_only_when_asked_for(folder: Path, tmp_path: Path) -> None:
    assert initialise(str(tmp_path / "w"), images=str(folder), labels="folder")["labelled"] == 5
    labels = Workspace.open(tmp_path / "w").collection().labels()
    assert labels is not None
    assert labels.tolist() == [0, 0, 0, 1, 1]


def test_a_linked_folder_is_entered_once_and_a_loop_ends(folder: Path, tmp_path: Path) -> None:
    (folder / "loop").symlink_to(folder)
    write_folder(tmp_path / "elsewhere", 2)
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    assert initialise(str(tmp_path / "w"), images=str(folder))["items"] == 7


def test_folders_that_hold_too_little_are_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "has no images" in refused(tmp_path, images=str(tmp_path / "empty"))
    write_folder(tmp_path / "single", 1)
    assert "one item" in refused(tmp_path, images=str(tmp_path / "single"))
    assert "there is no folder" in refused(tmp_path, images=str(tmp_path / "gone"))
    assert "no columns" in refused(tmp_path, images=str(folder), labels="species")


def test_exactly_one_source_is_needed(folder: Path, tmp_path: Path) -> None:
    assert "exactly one" in refused(tmp_path)
    assert "exactly one" in refused(tmp_path, images=str(folder), embeddings="x.npy")
    assert "exactly one" in refused(tmp_path, manifest="x.csv", embeddings="x.npy")


def test_a_workspace_is_never_overwritten(folder: Path, tmp_path: Path) -> None:
    initialise(str(tmp_path / "w"), images=str(folder))
    before = (tmp_path / "w/collection.parquet").read_bytes()
    with pytest.raises(InputError, match="already"):
        initialise(str(tmp_path / "w"), images=str(folder))
    assert (tmp_path / "w/collection.parquet").read_bytes() == before


MANIFEST = """path,id,label,group,time,bbox
a/0000.png,one,lynx,north,2024-05-01T06:30:00+02:00,
a/0002.png,two,,north,2024:05:01 06:30:00,"1,2,30,20"
b/0001.png,three,wolf,,,
"""


def test_a_csv_manifest_brings_ids_labels_groups_times_and_boxes(folder: Path, tmp_path: Path) -> None:
    (folder / "m.csv").write_text(MANIFEST)
    assert initialise(str(tmp_path / "w"), manifest=str(folder / "m.csv"))["labelled"] == 2
    rows = Workspace.open(tmp_path / "w").collection().table.to_pylist()
    assert [row["id"] for row in rows] == ["one", "two", "three"]
    assert [row["label"] for row in rows] == ["lynx", None, "wolf"]
    assert [row["group"] for row in rows] == ["north", "north", None]
    assert [row["taken_at"] and row["taken_at"].hour for row in rows] == [4, 6, None]
    assert rows[1]["uri"] == f"{folder}/a/0002.png#xywh=1,2,30,20"


def test_another_column_of_the_manifest_can_be_the_label(folder: Path, tmp_path: Path) -> None:
    (folder / "m.csv").write_text(MANIFEST)
    assert initialise(str(tmp_path / "w"), manifest=str(folder / "m.csv"), labels="group")["labelled"] == 2
    assert "no column 'species'" in refused(tmp_path, manifest=str(folder / "m.csv"), labels="species")


def test_a_parquet_and_a_jsonl_manifest_say_the_same_as_a_csv(folder: Path, tmp_path: Path) -> None:
    rows = [{"file_name": f"a/000{i}.png", "label": i, "bbox": [0.0, 0.0, 5.5, 5.0]} for i in (0, 2, 4)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "m.parquet")
    (folder / "m.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for kind in ("parquet", "jsonl"):
        initialise(str(tmp_path / kind), manifest=str(folder / f"m.{kind}"))
    tables = [Workspace.open(tmp_path / kind).collection().table for kind in ("parquet", "jsonl")]
    assert tables[0].equals(tables[1])
    assert tables[0].column("id").to_pylist()[1] == "a/0002.png#xywh=0,0,5.5,5"
    assert tables[0].column("label").to_pylist() == ["0", "2", "4"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("path\na/0000.png\na/0009.png\n", "row 2: there is no file"),
        ("path\na/0000.png\n../../secret.png\n", "climbs out of"),
        ("path\na/../../photos/a/0000.png\n", "climbs out of"),
        ("path,id\na/0000.png,x\na/0002.png,x\n", "'x' is used twice, in rows 0 and 1"),
        ("path\na/0000.png\na/0000.png\n", "used twice"),
        ("path,id\na/0000.png,x\n,y\n", "row 2: no path"),
        ("name,id\na/0000.png,x\n", "no path"),
        ("path,bbox\na/0000.png,\"1,2,3\"\n", "is not x, y, width, height"),
        ("path,bbox\na/0000.png,\"1,2,0,4\"\n", "no area"),
        ("path,time\na/0000.png,yesterday\n", "'yesterday' is not a time"),
        ("path\nftp://bucket/a.png\n", "neither a file nor in an object store"),
        ("path,id\na/0000.png\n", "Expected 2 columns"),
        ("path\n", "no rows"),
        ("", "no rows"),
    ],
)  # fmt: skip
def test_a_manifest_with_a_mistake_is_refused_by_row(folder: Path, tmp_path: Path, lines: str, said: str) -> None:
    (folder / "m.csv").write_text(lines)
    assert said in refused(tmp_path, manifest=str(folder / "m.csv"))


def vectors(n: int = 700, d: int = 6) -> np.ndarray[Any, np.dtype[np.float32]]:
    return np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)


def as_npy(path: Path, x: Any) -> str:
    np.save(path / "x.npy", x)
    return str(path / "x.npy")


def as_npz(path: Path, x: Any) -> str:
    np.savez(path / "x.npz", x=x)
    return str(path / "x.npz")


def as_compressed_npz(path: Path, x: Any) -> str:
    np.savez_compressed(path / "c.npz", x=x)
    return str(path / "c.npz")


def as_parquet(path: Path, x: Any) -> str:
    pq.write_table(pa.table({"vector": pa.array(x.tolist(), pa.list_(pa.float32()))}), path / "x.parquet", row_group_size=100)
    return str(path / "x.parquet")


def as_fixed_parquet(path: Path, x: Any) -> str:
    flat = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1])
    pq.write_table(pa.table({"vector": flat}), path / "f.parquet")
    return str(path / "f.parquet")


def as_zarr(path: Path, x: Any) -> str:
    zarr.save_array(str(path / "x.zarr"), x)
    return str(path / "x.zarr")


def as_img_emb(path: Path, x: Any) -> str:
    (path / "given/img_emb").mkdir(parents=True)
    for part, rows in enumerate(np.array_split(x, 12)):  # 12: img_emb_10 comes after img_emb_9
        np.save(path / f"given/img_emb/img_emb_{part}.npy", rows)
    return str(path / "given")


@pytest.mark.parametrize("form", [as_npy, as_npz, as_compressed_npz, as_parquet, as_fixed_parquet, as_zarr, as_img_emb])
def test_given_vectors_arrive_unchanged_from_every_format(tmp_path: Path, form: Callable[[Path, Any], str]) -> None:
    x = vectors()
    report = initialise(str(tmp_path / "w"), embeddings=form(tmp_path, x))
    assert (report["items"], report["dimensions"], report["labelled"]) == (700, 6, 0)
    array = Workspace.open(tmp_path / "w").array(EMBEDDINGS)
    array.require_complete()
    assert array.attributes["encoder"] == "given"
    np.testing.assert_array_equal(array.read(), x)


def test_doubles_and_integers_become_floats(tmp_path: Path) -> None:
    for kind in (np.float64, np.int16, np.float16):
        x = (vectors() * 100).astype(kind)
        initialise(str(tmp_path / np.dtype(kind).name), embeddings=as_npy(tmp_path, x))
        stored = Workspace.open(tmp_path / np.dtype(kind).name).array(EMBEDDINGS).read()
        np.testing.assert_array_equal(stored, x.astype(np.float32))


def test_labels_come_from_y_or_from_a_file(tmp_path: Path) -> None:
    y = np.arange(700) % 7
    np.savez(tmp_path / "xy.npz", x=vectors(), y=y)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "bare.csv").write_text("\n".join(map(str, y)))
    (tmp_path / "headed.csv").write_text("\n".join(["label", *map(str, y)]))
    (tmp_path / "by_id.csv").write_text("\n".join(["id,label", *(f"{i},{y[i]}" for i in reversed(range(700)))]))
    pq.write_table(pa.table({"label": y}), tmp_path / "y.parquet")
    plain = as_npy(tmp_path, vectors())
    given = [
        (str(tmp_path / "xy.npz"), None),
        *((plain, str(tmp_path / f)) for f in ("y.npy", "bare.csv", "headed.csv", "by_id.csv", "y.parquet")),
    ]
    for number, (source, labels) in enumerate(given):
        assert initialise(str(tmp_path / f"w{number}"), embeddings=source, labels=labels)["labelled"] == 700
        codes = Workspace.open(tmp_path / f"w{number}").collection().labels()
        assert codes is not None
        np.testing.assert_array_equal(codes, y)


def test_ids_and_labels_come_along_in_parquet_and_in_the_metadata(tmp_path: Path) -> None:
    x = vectors(30)
    ids = [f"item {i}" for i in range(30)]
    table = {"v": pa.array(x.tolist(), pa.list_(pa.float64())), "id": ids, "species": ["a", "b"] * 15}
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    assert initialise(str(tmp_path / "w"), embeddings=str(tmp_path / "x.parquet"), labels="species")["labelled"] == 30
    assert Workspace.open(tmp_path / "w").collection().ids == ids
    given = as_img_emb(tmp_path, x)
    (tmp_path / "given/metadata").mkdir()
    for part, rows in enumerate(np.array_split(np.arange(30), 12)):
        names = [f"/photos/{row}.jpg" for row in rows]
        pq.write_table(pa.table({"image_path": names}), tmp_path / f"given/metadata/metadata_{part}.parquet")
    initialise(str(tmp_path / "v"), embeddings=given)
    assert Workspace.open(tmp_path / "v").collection().uri(29) == "/photos/29.jpg"


def test_a_vector_with_nan_is_an_item_with_a_reason_and_zeros_are_kept(tmp_path: Path) -> None:
    x = vectors()
    x[3, 2], x[600, 0], x[5] = np.nan, np.inf, 0
    report = initialise(str(tmp_path / "w"), embeddings=as_npy(tmp_path, x))
    assert [f["id"] for f in report["failed"]] == ["3", "600"]
    workspace = Workspace.open(tmp_path / "w")
    assert sorted(workspace.collection().problems()) == [3, 600]
    stored = workspace.array(EMBEDDINGS).read()
    assert np.isnan(stored[[3, 600]]).all()
    np.testing.assert_array_equal(np.delete(stored, [3, 600], 0), np.delete(x, [3, 600], 0))


class Trap:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("a pickle was opened",))


def test_vectors_with_a_mistake_are_refused(tmp_path: Path) -> None:
    x = vectors()
    assert "every one of the 700" in refused(tmp_path, embeddings=as_npy(tmp_path, x * np.nan))
    assert "other than zero" in refused(tmp_path, embeddings=as_npy(tmp_path, x * 0))
    assert "two-dimensional" in refused(tmp_path, embeddings=as_npy(tmp_path, x[0]))
    assert "column by column" in refused(tmp_path, embeddings=as_npy(tmp_path, np.asfortranarray(x)))
    assert "is empty" in refused(tmp_path, embeddings=as_npy(tmp_path, x[:0]))
    assert "one item" in refused(tmp_path, embeddings=as_npy(tmp_path, x[:1]))
    np.savez(tmp_path / "z.npz", vectors=x)
    assert "no array `x`" in refused(tmp_path, embeddings=str(tmp_path / "z.npz"))
    np.save(tmp_path / "o.npy", np.array([[Trap(), Trap()]], object), allow_pickle=True)
    assert "never read" in refused(tmp_path, embeddings=str(tmp_path / "o.npy"))
    (tmp_path / "text.npy").write_text("no array")
    assert "cannot read" in refused(tmp_path, embeddings=str(tmp_path / "text.npy"))
    (tmp_path / "half.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-3])
    np.save(tmp_path / "whole.npy", x)
    (tmp_path / "half.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:-3])
    assert "ends in the middle, in row 699 of 700" in refused(tmp_path, embeddings=str(tmp_path / "half.npy"))
    ragged = pa.table({"v": pa.array([[1.0, 2.0], [1.0], [3.0, 4.0]])})
    pq.write_table(ragged, tmp_path / "r.parquet")
    assert "row 1: a vector of 1 numbers" in refused(tmp_path, embeddings=str(tmp_path / "r.parquet"))
    assert "there is no file" in refused(tmp_path, embeddings=str(tmp_path / "gone.npy"))


def test_labels_with_a_mistake_are_refused(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "short.npy", np.arange(4))
    np.save(tmp_path / "square.npy", np.zeros((5, 5)))
    np.save(tmp_path / "objects.npy", np.array([Trap()] * 5), allow_pickle=True)
    (tmp_path / "stranger.csv").write_text("id,label\nnobody,1\n")
    (tmp_path / "two.csv").write_text("x,y\n1,2\n")
    said = {
        "short.npy": "4 labels for 5 items", "square.npy": "shape", "objects.npy": "never read",
        "stranger.csv": "'nobody'", "two.csv": "needs a column `label`", "gone.csv": "there is no file",
    }  # fmt: skip
    for name, words in said.items():
        assert words in refused(tmp_path, images=str(folder), labels=str(tmp_path / name))


def test_a_killed_init_of_vectors_goes_on_and_a_finished_one_does_not(tmp_path: Path) -> None:
    x = vectors()
    source = as_npy(tmp_path, x)
    initialise(str(tmp_path / "w"), embeddings=source)
    (tmp_path / "w/markers/embeddings/000001.json").unlink()  # as if killed before the second shard was done
    initialise(str(tmp_path / "w"), embeddings=source)
    np.testing.assert_array_equal(Workspace.open(tmp_path / "w").array(EMBEDDINGS).read(), x)
    with pytest.raises(InputError, match="already"):
        initialise(str(tmp_path / "w"), embeddings=source)


def test_an_init_that_is_run_again_after_its_end_does_not_suggest_to_delete_the_workspace(folder: Path, tmp_path: Path) -> None:
    place, other = str(tmp_path / "w"), as_npy(tmp_path, vectors())
    first = initialise(place, images=str(folder))
    (tmp_path / "w" / ".init").touch()  # as if killed after the last step, before the mark was removed
    assert initialise(place, images=str(folder)) == first
    assert not (tmp_path / "w" / ".init").exists()
    for given, words in (({"images": str(folder)}, "go on with `cccount embed"), ({"embeddings": other}, "workspace")):
        with pytest.raises(InputError) as told:
            initialise(place, **given)
        assert words in str(told.value)
        assert "delete" not in str(told.value)


def test_a_store_that_fails_while_vectors_are_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr("storage.arrays.ShardedArray.write_shard", full)
    assert "disk is full" in refused(tmp_path, embeddings=as_npy(tmp_path, vectors()))
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/mine.txt").write_text("not ours")
    with pytest.raises(StoreError):
        initialise(str(tmp_path / "kept"), embeddings=as_npy(tmp_path, vectors()))
    assert [path.name for path in (tmp_path / "kept").iterdir() if not path.name.startswith(".lock")] == ["mine.txt"]


def test_odd_names_of_files_are_kept(tmp_path: Path) -> None:
    names = ["a b.png", "käse.png", "x#xywh=1,2,3,4.png", "y#.png", "line\nbreak.png", "UPPER.PNG"]
    for seed, name in enumerate(names):
        (tmp_path / "odd").mkdir(exist_ok=True)
        (tmp_path / "odd" / name).write_bytes(encoded(noise(seed)))
    initialise(str(tmp_path / "w"), images=str(tmp_path / "odd"))
    assert sorted(Workspace.open(tmp_path / "w").collection().ids) == sorted(names)
