"""Readers of other people's layouts: WebDataset tars, COCO, Camtrap DP, Hugging Face imagefolders."""

import io
import json
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from cccount_dist.embedding.images import load_image
from cccount_dist.embedding.readers.source import read_images, read_manifest
from storage.errors import InputError
from tests.cccount_dist.embedding.pictures import encoded, noise, write_folder


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def shard(first: int, count: int = 4) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    for seed in range(first, first + count):
        members[f"{seed:06d}.png"] = encoded(noise(seed))
        members[f"{seed:06d}.cls"] = f"{seed % 3}\n".encode()
        members[f"{seed:06d}.json"] = json.dumps({"species": "lynx", "time": "2024-05-01T06:30:00"}).encode()
    return members


def test_images_are_read_from_the_middle_of_their_tars(tmp_path: Path) -> None:
    for first in (0, 4):
        write_tar(tmp_path / f"shard-{first:04d}.tar", shard(first))
    table = read_images(tmp_path)
    assert table.column("id").to_pylist()[4] == "shard-0004.tar/000004.png"
    assert table.column("label").to_pylist() == [str(seed % 3) for seed in range(8)]
    assert table.column("taken_at")[0].as_py().hour == 6
    for seed, uri in enumerate(table.column("uri").to_pylist()):
        np.testing.assert_array_equal(load_image(uri), noise(seed))
    assert set(read_images(tmp_path, "species").column("label").to_pylist()) == {"lynx"}
    assert len(read_images(tmp_path / "shard-0000.tar")) == 4
    with pytest.raises(InputError, match="no 'breed'"):
        read_images(tmp_path, "breed")


def test_a_sample_with_several_images_keeps_them_apart(tmp_path: Path) -> None:
    picture = encoded(noise(1))
    write_tar(tmp_path / "s.tar", {"a.left.png": picture, "a.right.png": picture, "a.json": b'{"id": "x"}', "b.png": picture})
    assert read_images(tmp_path).column("id").to_pylist() == ["s.tar/a.left.png", "s.tar/a.right.png", "s.tar/b.png"]


@pytest.mark.parametrize("kept", [100, 512, 1000, 1024, 5000, -10_240, -9_000, -20_000])
def test_a_tar_that_ends_in_the_middle_is_refused(tmp_path: Path, kept: int) -> None:
    whole = write_tar(
        tmp_path / "whole.tar", {name: data for name, data in shard(0).items() if name.endswith("png")}
    ).read_bytes()
    end = len(whole.rstrip(b"\0")) // 512 * 512 + 512  # where the zeros begin
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole[: kept if kept > 0 else min(end, len(whole) + kept)])
    with pytest.raises(InputError, match=r"cut\.tar") as caught:
        read_images(cut)
    assert len(str(caught.value).splitlines()) == 1


def test_a_damaged_header_in_the_middle_is_not_the_end(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "s.tar", shard(0))
    with tarfile.open(path) as archive:
        place = archive.getmembers()[3].offset
    data = bytearray(path.read_bytes())
    data[place : place + 20] = b"x" * 20
    path.write_bytes(data)
    with pytest.raises(InputError, match="ends in the middle"):
        read_images(path)


def test_a_compressed_tar_and_an_empty_one_are_explained(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "z.tar", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.png"))
    with pytest.raises(InputError, match="unpack it first"):
        read_images(tmp_path / "z.tar")
    (tmp_path / "z.tar").write_bytes(b"")
    with pytest.raises(InputError, match="not a plain tar"):
        read_images(tmp_path / "z.tar")


def coco(folder: Path) -> dict[str, list[dict[str, object]]]:
    write_folder(folder, 2)
    return {
        "images": [
            {"id": 7, "file_name": "a/0000.png", "width": 60, "height": 40, "location": "north", "datetime": "2024-05-01"},
            {"id": 8, "file_name": "b/0001.png"},
        ],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 2, "bbox": [-5, 10, 25, 20], "segmentation": [[1, 2]]},
            {"id": 2, "image_id": 7, "category_id": 3, "bbox": [30.5, 0, 10, 10]},
            {"id": 3, "image_id": 8, "category_id": 3, "name": "Anna"},
        ],
        "categories": [{"id": 2, "name": "wolf"}, {"id": 3, "name": "lynx"}],
    }  # fmt: skip


def test_coco_boxes_become_items(tmp_path: Path) -> None:
    (tmp_path / "boxes.json").write_text(json.dumps(coco(tmp_path)))
    table = read_manifest(tmp_path / "boxes.json")
    assert table.column("id").to_pylist() == ["1", "2", "3"]
    assert table.column("label").to_pylist() == ["wolf", "lynx", "lynx"]
    assert table.column("group").to_pylist() == ["north", "north", None]
    np.testing.assert_array_equal(load_image(table.column("uri")[0].as_py()), noise(0)[10:30, 0:20])
    np.testing.assert_array_equal(load_image(table.column("uri")[2].as_py()), noise(1))


def test_a_coco_file_apart_from_its_images_is_told_where_they_are(tmp_path: Path) -> None:
    document, annotations = coco(tmp_path / "images"), tmp_path / "annotations" / "boxes.json"
    annotations.parent.mkdir()
    annotations.write_text(json.dumps(document))
    with pytest.raises(InputError, match="--images"):
        read_manifest(annotations)
    table = read_manifest(annotations, root=tmp_path / "images")
    np.testing.assert_array_equal(load_image(table.column("uri")[2].as_py()), noise(1))
    with pytest.raises(InputError, match="there is no folder"):
        read_manifest(annotations, root=tmp_path / "elsewhere")


def test_coco_files_with_a_mistake_are_refused(tmp_path: Path) -> None:
    sound = coco(tmp_path)
    wrong = {
        "climbs out": {**sound, "images": [{"id": 7, "file_name": "../a.png"}]},
        "there is no file": {**sound, "images": [{"id": 7, "file_name": "a/9.png"}]},
        "there is no image 8": {**sound, "images": sound["images"][:1]},
        "no annotations": {**sound, "annotations": []},
        "no area": {**sound, "annotations": [{"image_id": 7, "bbox": [1, 2, 0, 0]}]},
        "needs images": {"info": []},
    }
    for said, document in wrong.items():
        (tmp_path / "boxes.json").write_text(json.dumps(document))
        with pytest.raises(InputError, match=said):
            read_manifest(tmp_path / "boxes.json")
    (tmp_path / "boxes.json").write_text('{"images": [')
    with pytest.raises(InputError, match="not JSON"):
        read_manifest(tmp_path / "boxes.json")


MEDIA = """mediaID,deploymentID,timestamp,filePath,fileMediatype
m0,north,2024-05-01T06:30:00Z,a/0000.png,image/png
m1,south,2024-05-01T06:31:00+0200,b/0001.png,image/png
"""
BOXES = """observationID,mediaID,observationLevel,observationType,scientificName,individualID,bboxX,bboxY,bboxWidth,bboxHeight
o1,m0,media,animal,Lynx lynx,L1,0.5,0.25,0.5,0.5
o2,m0,media,human,,,0.1,0.1,0.2,0.2
o3,m1,media,animal,Lynx lynx,,0,0,1,1
o4,,event,animal,Lynx lynx,,,,,
"""


def test_a_camtrap_package_gives_animals_by_deployment_and_individual(tmp_path: Path) -> None:
    write_folder(tmp_path, 2)
    (tmp_path / "datapackage.json").write_text("{}")
    (tmp_path / "media.csv").write_text(MEDIA)
    (tmp_path / "observations.csv").write_text(BOXES)
    table = read_images(tmp_path)
    assert table.column("id").to_pylist() == ["o1", "o3"]
    assert table.column("label").to_pylist() == ["L1", None]
    assert table.column("group").to_pylist() == ["north", "south"]
    assert table.column("taken_at")[1].as_py().hour == 4
    np.testing.assert_array_equal(load_image(table.column("uri")[0].as_py()), noise(0)[10:30, 30:60])
    assert read_images(tmp_path, "scientificName").column("label").to_pylist() == ["Lynx lynx"] * 2
    assert read_manifest(tmp_path / "datapackage.json").equals(table)
    (tmp_path / "observations.csv").write_text("observationID,mediaID,scientificName\no1,m0,Lynx lynx\n")
    assert read_images(tmp_path, "scientificName").column("label").to_pylist() == ["Lynx lynx", None]
    (tmp_path / "observations.csv").write_text("observationID,mediaID\no1,m9\n")
    with pytest.raises(InputError, match="no medium m9"):
        read_images(tmp_path)


def test_an_imagefolder_takes_its_metadata(tmp_path: Path) -> None:
    write_folder(tmp_path, 3)
    (tmp_path / "metadata.csv").write_text("file_name,label,text\na/0000.png,wolf,x\nb/0001.png,lynx,y\n")
    assert read_images(tmp_path).column("label").to_pylist() == ["wolf", "lynx"]
    assert read_images(tmp_path, "text").column("label").to_pylist() == ["x", "y"]
    assert read_images(tmp_path, "folder").column("label").to_pylist() == ["a", "a", "b"]


def test_many_paths_are_not_as_many_objects(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(encoded(noise(1)))
    with (tmp_path / "m.csv").open("w") as sink:
        sink.write("path,id\n")
        sink.writelines(f"a.png,item number {row}\n" for row in range(50_000))
    tracemalloc.start()
    table = read_manifest(tmp_path / "m.csv")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(table) == 50_000
    assert peak < 24 * 2**20, peak  # one batch as dictionaries; all of them would take three times as much
