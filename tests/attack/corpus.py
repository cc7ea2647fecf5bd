"""Hostile files, made anew from fixed seeds: for every reader and importer what an attack found, and its neighbours.

A case writes its files into a folder and returns what the reader is given. The same seed gives the same files; with
`CCCOUNT_ATTACK=20` in the environment there are twenty times as many of the random ones.
"""

import copy
import io
import json
import os
import random
import socket
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from PIL import Image

ROUNDS = int(os.environ.get("CCCOUNT_ATTACK", "1"))
Write = Callable[[Path], Path]


@dataclass(frozen=True)
class Case:
    """One hostile input for one reader."""

    reader: str
    name: str
    write: Write


# -- values and texts ---------------------------------------------------------------------------------------------------------

VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.7,
    1e308,
    -1e308,
    10**400,
    float("nan"),
    float("inf"),
    "",
    " ",
    "\ud800",
    "a\0b",
    "x" * 100_000,
    "=1+1",
    "../../../etc/passwd",
    "/dev/zero",
    [],
    {},
    [[[]]],
    {"a": [1]},
    [1, 2, 3],
    "1e999",
    "9" * 5000,
    "2024-99-99",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "s3://",
    "file://",
    "\u202e",
)
DEEP = 100_000


def deep(opening: str, closing: str) -> str:
    return opening * DEEP + closing * DEEP


def mutated(document: Any, seed: int) -> Any:
    """A copy of a JSON document with one or two of its values replaced, or a name taken away."""
    rng = random.Random(seed)
    found = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2))):
        places = list(_places(found))
        if not places:
            return copy.deepcopy(rng.choice(VALUES))
        holder, key = rng.choice(places)
        if isinstance(holder, dict) and rng.random() < 0.15:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
    return found


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    entries = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in list(entries):
        yield document, key
        yield from _places(value)


def flipped(data: bytes, seed: int) -> bytes:
    """Bytes with some changed, cut off, or put in."""
    rng = random.Random(seed)
    changed = bytearray(data)
    how = rng.randrange(4)
    if how == 0:
        return bytes(changed[: rng.randrange(len(changed))])
    for _ in range(rng.choice((1, 3, 20))):
        at = rng.randrange(len(changed))
        if how == 1:
            changed[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            changed[at] = rng.choice((0, 255, 127, 128))
        else:
            changed[at:at] = rng.randbytes(rng.choice((1, 8)))
    return bytes(changed)


def file(name: str, data: bytes | str) -> Write:
    def write(folder: Path) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", errors="surrogatepass"))
        return path

    return write


def as_json(document: Any) -> str:
    return json.dumps(document)


# -- what is no file ----------------------------------------------------------------------------------------------------------


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    short = Path(f"/tmp/s{os.getpid()}-{abs(hash(str(path))) % 10**8}")  # the address of a socket has at most 108 bytes
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(short))
    short.rename(path) if short.stat().st_dev == path.parent.stat().st_dev else short.unlink()


NO_FILES: dict[str, Callable[[Path], None]] = {
    "pipe": _pipe,
    "endless device": lambda path: path.symlink_to("/dev/zero"),
    "empty device": lambda path: path.symlink_to("/dev/null"),
    "link to itself": lambda path: path.symlink_to(path.name),
    "link to nothing": lambda path: path.symlink_to("nowhere"),
    "folder": lambda path: path.mkdir(),
    "socket": _socket,
}


def no_files(reader: str, name: str) -> Iterator[Case]:
    for what, make in NO_FILES.items():

        def write(folder: Path, make: Callable[[Path], None] = make) -> Path:
            path = folder / name
            make(path)
            return path

        yield Case(reader, f"{what} as {name}", write)


# -- collections --------------------------------------------------------------------------------------------------------------


def picture(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (200, 10, 10)).save(path)
    return path


def with_pictures(write: Write) -> Write:
    def written(folder: Path) -> Path:
        for number in range(3):
            picture(folder / f"{number}.png")
        return write(folder)

    return written


COCO = {
    "images": [{"id": n, "file_name": f"{n}.png", "width": 8, "height": 8, "datetime": "2024-05-01"} for n in range(3)],
    "annotations": [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 5, 5]} for n in range(3)],
    "categories": [{"id": 1, "name": "lynx"}],
}
TABLE = [
    {"path": f"{n}.png", "id": f"i{n}", "label": "a", "bbox": "0,0,5,5", "taken_at": "2024-05-01", "width": 8} for n in range(3)
]


def coco() -> Iterator[Case]:
    texts = {
        "empty": "",
        "no JSON": "{",
        "a list": "[]",
        "a number": "7",
        "deep lists": deep("[", "]"),
        "deep objects": deep('{"a":', ""),
        "nothing in it": "{}",
        "images are a number": '{"images": 3, "annotations": []}',
        "a byte order mark": "\ufeff{}",
        "an image is a list": '{"images": [[1]], "annotations": [{}]}',
        "NaN": '{"images": NaN, "annotations": NaN}',
        "an id is a list": '{"images": [{"id": [1]}], "annotations": [{"image_id": [1]}]}',
        "an endless number": '{"images": [{"id": ' + "9" * 10_000 + '}], "annotations": []}',
        "half a character": as_json(COCO).replace("lynx", "\\ud800"),
        "a path with a zero": as_json(COCO).replace("1.png", "a\\u0000b"),
        "a path without end": as_json(COCO).replace("1.png", "a" * 5000),
    }
    for name, text in texts.items():
        yield Case("coco", name, with_pictures(file("coco.json", text)))
    for seed in range(40 * ROUNDS):
        yield Case("coco", f"changed {seed}", with_pictures(file("coco.json", as_json(mutated(COCO, seed)))))
    yield from no_files("coco", "coco.json")


def manifests() -> Iterator[Case]:
    plain = "id,path,label\na,0.png,x\nb,1.png,y\n"
    texts = {
        "empty": "",
        "a header": "id,path\n",
        "no path": "id,name\na,b\n",
        "a quote that never ends": 'id,path\n"a,0.png\n',
        "more cells than columns": "id,path\na,0.png,x,y\n",
        "fewer cells": "id,path\na\n",
        "zeros": "id,path\na\0,0.png\n",
        "two columns of a name": "path,path\n0.png,1.png\n",
        "nameless columns": ",,\n0.png,1.png,\n",
        "a time that is none": "path,taken_at\n0.png,yesterday\n1.png,\n",
        "a time before all": "path,time\n0.png,0001-01-01T00:00+14:00\n",
        "a box without numbers": 'path,bbox\n0.png,"a,b,c,d"\n',
        "an endless box": 'path,bbox\n0.png,"1e308,0,1e308,1"\n',
        "an endless width": "path,width\n0.png,1e400\n1.png,3\n",
        "a width of letters": "path,width\n0.png,wide\n",
        "a long id": f"id,path\n{'x' * 200_000},0.png\n",
        "latin 1": "id,path\n\xe4,0.png\n",
        "climbing": "path\n../../../../etc/passwd\n/etc/passwd\n",
        "a device": "path\n/dev/zero\n/dev/null\n",
        "an address": "path\nhttp://example.org/a.jpg\n",
        "an unknown store": "path\nftp://a\n",
        "no scheme": "path\n://\n",
    }
    for name, text in texts.items():
        data = text.encode("latin-1") if name == "latin 1" else text.encode()
        yield Case("manifest", f"csv: {name}", with_pictures(file("m.csv", data)))
    yield Case("manifest", "csv: UTF-16", with_pictures(file("m.csv", plain.replace(",", "\t").encode("utf-16"))))
    yield Case("manifest", "csv: half of UTF-16", with_pictures(file("m.csv", plain.encode("utf-16")[:-1])))
    lines = {
        "deep": deep("[", "]"),
        "a number": "7",
        "no JSON": "{",
        "a path that is a list": '{"path": [1]}',
        "none": '{"path": null}',
        "a path that is an object": '{"path": {"a": 1}}',
        "half a character": '{"path": "0.png", "label": "\\ud800"}',
        "a label that is a list": '{"path": "0.png", "label": [1]}',
    }
    for name, text in lines.items():
        yield Case("manifest", f"jsonl: {name}", with_pictures(file("m.jsonl", text + "\n")))
    for seed in range(20 * ROUNDS):
        text = "\n".join(as_json(row) for row in mutated(TABLE, seed))
        yield Case("manifest", f"jsonl: changed {seed}", with_pictures(file("m.jsonl", text)))
    stored = table_bytes(pa.Table.from_pylist(TABLE))
    for seed in range(15 * ROUNDS):
        yield Case("manifest", f"parquet: flipped {seed}", with_pictures(file("m.parquet", flipped(stored, seed))))
    columns: dict[str, pa.Array] = {
        "numbers": pa.array([1, 2]),
        "lists": pa.array([[1], [2]]),
        "nothing": pa.nulls(2),
        "no text": pa.array([b"\xff", b"\xfe"], pa.binary()).view(pa.string()),
        "bytes": pa.array([b"0.png", b"1.png"]),
        "times": pa.array([2**62, -(2**62)], pa.timestamp("us")),
    }
    for name, column in columns.items():
        for where in ("path", "label", "taken_at", "bbox"):
            paths = pa.array(["0.png", "1.png"])
            data = table_bytes(pa.table({"path": paths} | {where: column}))
            yield Case("manifest", f"parquet: {name} as {where}", with_pictures(file("m.parquet", data)))
    yield from no_files("manifest", "m.csv")


def camtraps() -> Iterator[Case]:
    media = "mediaID,deploymentID,filePath,timestamp,fileMediatype\nm0,d,0.png,2024-05-01,image/png\nm1,d,1.png,,\n"
    seen = "observationID,mediaID,observationType,bboxX,bboxY,bboxWidth,bboxHeight,individualID\n"
    pairs = {
        "whole": (media, seen + "o0,m0,animal,0.1,0.1,0.5,0.5,a\no1,m1,animal,0.1,0.1,0.5,0.5,b\n"),
        "no observations": (media, seen),
        "empty": ("", ""),
        "headers": ("mediaID\n", "mediaID\n"),
        "a box of letters": (media, seen + "o0,m0,animal,a,b,c,d,\n"),
        "an endless box": (media, seen + "o0,m0,animal,1e308,0,1e308,1,\n"),
        "a box that is no number": (media, seen + "o0,m0,animal,nan,0,1,1,\n"),
        "a medium that is not there": (media, seen + "o0,mX,,,,,,\n"),
        "a path that climbs": (media.replace("0.png", "../../a.png"), seen),
        "a path that is a device": (media.replace("0.png", "/dev/zero"), seen),
        "a time that is none": (media.replace("2024-05-01", "soon"), seen),
        "no columns": ("a,b\n1,2\n", "c\n3\n"),
    }
    for name, (one, other) in pairs.items():

        def write(folder: Path, one: str = one, other: str = other) -> Path:
            for number in range(2):
                picture(folder / f"{number}.png")
            for file_name, text in (("datapackage.json", "{}"), ("media.csv", one), ("observations.csv", other)):
                (folder / file_name).write_text(text)
            return folder

        yield Case("images", f"camtrap: {name}", write)
    for what, make in NO_FILES.items():

        def odd(folder: Path, make: Callable[[Path], None] = make) -> Path:
            (folder / "datapackage.json").write_text("{}")
            (folder / "observations.csv").write_text(seen)
            make(folder / "media.csv")
            return folder

        yield Case("images", f"camtrap: {what} as media.csv", odd)


def folders() -> Iterator[Case]:
    for what, make in NO_FILES.items():

        def write(folder: Path, make: Callable[[Path], None] = make) -> Path:
            for number in range(2):
                picture(folder / f"{number}.png")
            make(folder / "odd.jpg")
            return folder

        yield Case("images", f"folder: {what} among the pictures", write)
    rng = random.Random(7)
    for seed in range(8 * ROUNDS):
        data = flipped(_tar(), seed)
        yield Case("images", f"tar: flipped {seed}", file("a.tar", data))
    for name, value in (("below zero", -512), ("without end", 8**11 - 1)):
        yield Case("images", f"tar: a size {name}", file("a.tar", _tar_with_size(value)))
    yield Case("images", "tar: json that is deep", file("a.tar", _tar({"0.json": deep("[", "]").encode()})))
    yield Case("images", "tar: json that is a list", file("a.tar", _tar({"0.json": b'{"id": [1], "label": {"a": 1}}'})))
    yield Case("images", "tar: noise", file("a.tar", rng.randbytes(5000)))
    yield from no_files("images", "a.tar")


def _tar(more: dict[str, bytes] | None = None) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, data in {"0.png": b"x" * 100, **(more or {}), "1.png": b"y" * 100, "1.cls": b"3"}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return sink.getvalue()


def _tar_with_size(size: int) -> bytes:
    entry = tarfile.TarInfo("0.png")
    entry.size = size
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    return bytes(header) + _tar()


# -- vectors and labels -------------------------------------------------------------------------------------------------------


def table_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def npy_bytes(array: Any, **options: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, **options)
    return sink.getvalue()


def npy_header(text: str, version: tuple[int, int] = (1, 0), data: bytes = b"\0" * 64) -> bytes:
    header = text.encode() + b"\n"
    return b"\x93NUMPY" + bytes(version) + len(header).to_bytes(2 if version == (1, 0) else 4, "little") + header + data


def npz_bytes(**members: bytes) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return sink.getvalue()


GOOD = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
HEADERS = {
    "a shape that is no tuple": "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
    "a shape below zero": "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}",
    "a shape without end": "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4)}",
    "dimensions without end": "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 1000000000000)}",
    "a type that is none": "{'descr': 'nothing', 'fortran_order': False, 'shape': (4, 4)}",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (4, 4)}",
    "words": "{'descr': '<U8', 'fortran_order': False, 'shape': (4, 4)}",
    "records": "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4, 4)}",
    "no dictionary": "[1, 2]",
    "code": "__import__('os').system('true')",
    "deep": "(" * 5000 + ")" * 5000,
    "nothing": "",
    "zeros": "\0\0\0",
    "column by column": "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}",
}


def vectors() -> Iterator[Case]:
    for name, text in HEADERS.items():
        for version in ((1, 0), (2, 0)):
            yield Case("vectors", f"npy {version[0]}: {name}", file("x.npy", npy_header(text, version)))
    yield Case("vectors", "npy 9", file("x.npy", npy_header(HEADERS["objects"], (9, 9))))
    stored = {"npy": npy_bytes(GOOD), "npz": npz_bytes(x=npy_bytes(GOOD), y=npy_bytes(np.arange(6)))}
    stored["parquet"] = table_bytes(pa.table({"id": list("abcdef"), "vector": GOOD.tolist()}))
    for ending, data in stored.items():
        yield Case("vectors", f"{ending}: empty", file(f"x.{ending}", b""))
        for seed in range(12 * ROUNDS):
            yield Case("vectors", f"{ending}: flipped {seed}", file(f"x.{ending}", flipped(data, seed)))
        yield from no_files("vectors", f"x.{ending}")
    members = {
        "no x": npz_bytes(z=b""),
        "x is nothing": npz_bytes(x=b""),
        "y of another length": npz_bytes(x=npy_bytes(GOOD), y=npy_bytes([1])),
        "y of objects": npz_bytes(x=npy_bytes(GOOD), y=npy_bytes(np.array([{}] * 6), allow_pickle=True)),
        "y without end": npz_bytes(
            x=npy_bytes(GOOD), y=npy_header("{'descr': '<U100000000', 'fortran_order': False, 'shape': (6,)}")
        ),
        "x without end": npz_bytes(x=npy_header(HEADERS["a shape without end"])),
        "y of tables": npz_bytes(x=npy_bytes(GOOD), y=npy_bytes(np.zeros((6, 2)))),
    }
    for name, data in members.items():
        yield Case("vectors", f"npz: {name}", file("x.npz", data))
    tables = {
        "lists of lists": pa.table({"v": [[[1.0]], [[2.0]]]}),
        "lists of words": pa.table({"v": [["a"], ["b"]]}),
        "nothing": pa.table({"v": pa.array([None, None], pa.list_(pa.float32()))}),
        "two": pa.table({"v": [[1.0]], "w": [[1.0]]}),
        "holes": pa.table({"v": pa.array([[1.0, None], [2.0, 3.0]])}),
        "lengths": pa.table({"v": [[1.0], [1.0, 2.0]]}),
        "objects": pa.table({"v": [{"a": 1}, {"a": 2}]}),
        "endless": pa.table({"v": [[1e300, 1.0], [2.0, 3.0]]}),
        "ids of lists": pa.table({"v": [[1.0, 2.0], [2.0, 3.0]], "id": [[1], [2]]}),
        "ids twice": pa.table({"v": [[1.0, 2.0], [2.0, 3.0]], "id": ["a", "a"]}),
        "ids that are no text": pa.table({"v": [[1.0, 2.0], [2.0, 3.0]], "id": pa.array([b"\xff", b"a"]).view(pa.string())}),
    }
    for name, table in tables.items():
        yield Case("vectors", f"parquet: {name}", file("x.parquet", table_bytes(table)))
    yield from zarrs()


def zarrs() -> Iterator[Case]:
    def made(folder: Path) -> Path:
        path = folder / "x.zarr"
        array = zarr.create_array(path, shape=GOOD.shape, chunks=(2, 4), dtype="f4")
        array[...] = GOOD
        return path

    def changed(folder: Path, text: str) -> Path:
        path = made(folder)
        (path / "zarr.json").write_text(text)
        return path

    plain = zarr_metadata()
    texts = {f"changed {seed}": as_json(mutated(plain, seed)) for seed in range(25 * ROUNDS)}
    texts |= {"empty": "", "deep": deep("[", "]"), "a number": "7", "a list": "[]"}
    texts["a shape without end"] = as_json({**plain, "shape": [10**12, 4]})
    texts["dimensions without end"] = as_json({**plain, "shape": [6, 10**12]})
    grid = {"name": "regular", "configuration": {"chunk_shape": [6, 10**10]}}
    texts["a chunk without end"] = as_json({**plain, "shape": [6, 10**10], "chunk_grid": grid})
    texts["words"] = as_json({**plain, "data_type": "string", "fill_value": ""})
    for name, text in texts.items():
        yield Case("vectors", f"zarr: {name}", partial(changed, text=text))
    for seed in range(6 * ROUNDS):

        def chunk(folder: Path, seed: int = seed) -> Path:
            path = made(folder)
            stored = path / "c" / str(seed % 3) / "0"
            stored.write_bytes(flipped(stored.read_bytes(), seed))
            return path

        yield Case("vectors", f"zarr: a chunk flipped {seed}", chunk)
    for what, make in NO_FILES.items():

        def odd(folder: Path, make: Callable[[Path], None] = make) -> Path:
            path = made(folder)
            (path / "zarr.json").unlink()
            make(path / "zarr.json")
            return path

        yield Case("vectors", f"zarr: {what} as zarr.json", odd)
    for codec in ({"compressor": {"id": "pickle"}}, {"filters": [{"id": "pickle"}]}, {"compressor": {"id": "nothing"}}):

        def older(folder: Path, codec: dict[str, Any] = codec) -> Path:
            path = folder / "x.zarr"
            path.mkdir()
            plain = {
                "zarr_format": 2,
                "shape": [2, 2],
                "chunks": [2, 2],
                "dtype": "<f4",
                "compressor": None,
                "fill_value": 0,
                "order": "C",
                "filters": None,
            }
            (path / ".zarray").write_text(as_json({**plain, **codec}))
            (path / "0.0").write_bytes(b"cos\nmkdir\n(S'executed'\ntR.")  # a pickle that leaves a folder where it is run
            return path

        yield Case("vectors", f"zarr 2: {as_json(codec)}", older)


APART = np.linalg.norm(GOOD[:, None] - GOOD[None], axis=2)  # what lies between six vectors
PAIRED = {"u": [0, 0, 1, 2, 3, 4], "v": [1, 2, 3, 3, 4, 5], "distance": [1.0, 2.0, 1.5, 0.5, 3.0, 0.0]}
GRAPH = {  # as scipy.sparse.save_npz writes it
    "format": np.array(b"csr"), "shape": np.array([6, 6]), "data": np.array([1.0, 2.0, 3.0, 4.0, 5.0]),
    "indices": np.array([1, 2, 3, 4, 5], np.int32), "indptr": np.array([0, 1, 2, 3, 4, 5, 5], np.int32),
}  # fmt: skip


def graph_bytes(**other: Any) -> bytes:
    return npz_bytes(**{name: npy_bytes(array) for name, array in {**GRAPH, **other}.items()})


def distances() -> Iterator[Case]:
    """Distances in the place of vectors: a matrix, a sparse graph, pairs."""
    for name, text in HEADERS.items():
        yield Case("distances", f"npy: {name}", file("d.npy", npy_header(text)))
        yield Case("distances", f"npz: {name}", file("d.npz", npz_bytes(format=npy_header(text), shape=npy_header(text))))
    stored = {"npy": npy_bytes(APART), "npz": graph_bytes(), "parquet": table_bytes(pa.table(PAIRED))}
    for ending, data in stored.items():
        yield Case("distances", f"{ending}: empty", file(f"d.{ending}", b""))
        for seed in range(12 * ROUNDS):
            yield Case("distances", f"{ending}: flipped {seed}", file(f"d.{ending}", flipped(data, seed)))
        yield from no_files("distances", f"d.{ending}")
    for value in (np.nan, np.inf, -1.0, 1e308, 1e-320):
        odd = APART.astype(np.float64)
        odd[1, 2] = odd[2, 1] = value
        yield Case("distances", f"npy: {value}", file("d.npy", npy_bytes(odd)))
        yield Case("distances", f"npz: {value}", file("d.npz", graph_bytes(data=np.full(5, value))))
    graphs: dict[str, dict[str, Any]] = {
        "a shape without end": {"shape": np.array([2**62, 2**62])}, "a shape of one": {"shape": np.array([6])},
        "an index beyond": {"indices": np.array([1, 2, 3, 4, 99], np.int32)}, "an index below": {"indices": np.array([-1] * 5)},
        "ends that fall": {"indptr": np.array([0, 5, 2, 9, 4, 5, 5])}, "another format": {"format": np.array(b"none")},
        "words": {"data": np.array(list("abcde"))}, "complex": {"data": np.ones(5, np.complex128)},
        "a block": {"format": np.array(b"bsr")},
        "no ends": {"indptr": np.zeros(0, np.int32)}, "halves": {"indices": np.array([0.5] * 5)},
    }  # fmt: skip
    for name, other in graphs.items():
        yield Case("distances", f"npz: {name}", file("d.npz", graph_bytes(**other)))
    columns: dict[str, pa.Array] = {
        "without end": pa.array([2**62] * 6), "unsigned": pa.array([2**64 - 1] * 6, pa.uint64()), "lists": pa.array([[1]] * 6),
        "words": pa.array(list("abcdef")), "no text": pa.array([b"\xff"] * 6, pa.binary()).view(pa.string()),
        "nothing": pa.nulls(6), "times": pa.array([2**62] * 6, pa.timestamp("us")),
        "no number": pa.array([float("nan")] * 6), "yes": pa.array([True] * 6),
    }  # fmt: skip
    for name, column in columns.items():
        for where in PAIRED:
            table = pa.table({**PAIRED, where: column})
            yield Case("distances", f"parquet: {name} as {where}", file("d.parquet", table_bytes(table)))


def zarr_metadata() -> Any:
    store = zarr.storage.MemoryStore()
    zarr.create_array(store, shape=GOOD.shape, chunks=(2, 4), dtype="f4")
    return json.loads(store._store_dict["zarr.json"].to_bytes())


def labels() -> Iterator[Case]:
    for name, text in HEADERS.items():
        yield Case("labels", f"npy: {name}", file("y.npy", npy_header(text)))
    texts = {
        "empty": "",
        "two columns": "a,b\n1,2\n",
        "too few": "label\na\n",
        "ids": "id,label\nnobody,a\n",
        "no UTF-8": "label\n\udcff\n",
        "a quote that never ends": 'label\n"a\n',
        "an id twice": "id,label\n0,a\n0,b\n",
    }
    for name, text in texts.items():
        yield Case("labels", f"csv: {name}", file("y.csv", text.encode(errors="surrogateescape")))
    stored = table_bytes(pa.table({"label": list("aabbcc")}))
    for seed in range(5 * ROUNDS):
        yield Case("labels", f"parquet: flipped {seed}", file("y.parquet", flipped(stored, seed)))
    yield Case("labels", "parquet: lists", file("y.parquet", table_bytes(pa.table({"label": [[1]] * 6}))))
    yield from no_files("labels", "y.csv")


# -- answers, gold, jobs ------------------------------------------------------------------------------------------------------

ANSWERS = [
    {
        "question_id": n,
        "value": "same",
        "annotator": "ana",
        "seconds": 1.5,
        "answer_id": f"a{n}",
        "u": 2 * n,
        "v": 2 * n + 1,
        "id_u": f"image {2 * n}",
        "id_v": f"image {2 * n + 1}",
        "campaign": "c",
        "source": "pack",
    }
    for n in range(3)
]
PACK = [
    *ANSWERS,
    {"answer_id": "f1", "flag_item": 3, "reason": "dark", "annotator": "ana", "campaign": "c", "id_item": "image 3"},
    {"answer_id": "f2", "flag_item": 3, "undoes": "f1", "annotator": "ana", "campaign": "c"},
    {"answer_id": "u1", "question_id": 0, "undoes": "a0", "annotator": "ana", "campaign": "c"},
]
TASKS = [
    {
        "id": n,
        "data": {"question_id": n, "campaign": "c", "u": 2 * n, "v": 2 * n + 1},
        "annotations": [
            {
                "id": 7,
                "completed_by": {"id": 1, "email": "a@b"},
                "lead_time": 3.5,
                "was_cancelled": False,
                "result": [{"from_name": "answer", "type": "choices", "value": {"choices": ["same"]}}],
            }
        ],
    }
    for n in range(3)
]
GOLD = [{"id_u": f"image {2 * n}", "id_v": f"image {2 * n + 1}", "value": "same", "u": 2 * n, "v": 2 * n + 1} for n in range(3)]


def answers() -> Iterator[Case]:
    for name, document, rounds in (("answers", ANSWERS, 15), ("pack", PACK, 25), ("Label Studio", TASKS, 30)):
        for seed in range(rounds * ROUNDS):
            yield Case("answers", f"{name}: changed {seed}", file("a.json", as_json(mutated(document, seed))))
    yield from _tables("answers", ANSWERS)


def gold() -> Iterator[Case]:
    for seed in range(10 * ROUNDS):
        yield Case("gold", f"changed {seed}", file("a.json", as_json(mutated(GOLD, seed))))
    yield from _tables("gold", GOLD)


def _tables(reader: str, rows: list[dict[str, Any]]) -> Iterator[Case]:
    texts = {
        "a.json": (
            "",
            "[",
            "7",
            "null",
            "{}",
            "[[]]",
            '{"answers": 3}',
            deep("[", "]"),
            deep('{"answers":', ""),
            "NaN",
            "\ufeff[]",
        ),
        "a.csv": (
            "",
            "\0",
            "value",
            "question_id,value\n0",
            'question_id,value\n"',
            "sep=",
            "sep=;\n",
            ";;;;\n",
            "\ufeff",
            "\n\n\n",
            "question_id,value\n" + "x" * 200_000,
            "value,value\n1,2\n",
            "question_id,value\n0,\udcff\n",
        ),
    }
    for name, contents in texts.items():
        for number, text in enumerate(contents):
            yield Case(reader, f"{name[2:]}: text {number}", file(name, text.encode(errors="surrogateescape")))
    plain = ",".join(rows[0]) + "\n" + "\n".join(",".join(str(cell) for cell in row.values()) for row in rows) + "\n"
    table = table_bytes(pa.Table.from_pylist(rows))
    for seed in range(10 * ROUNDS):
        yield Case(reader, f"csv: flipped {seed}", file("a.csv", flipped(plain.encode(), seed)))
        yield Case(reader, f"parquet: flipped {seed}", file("a.parquet", flipped(table, seed)))
    for value in (pa.array([[1], [2], [3]]), pa.array([{"a": 1}] * 3), pa.array([2**62] * 3, pa.timestamp("us")), pa.nulls(3)):
        for column in [one for one in ("question_id", "value", "u", "id_u") if one in rows[0]] or rows[0]:
            odd = pa.Table.from_pylist(rows)
            place = odd.column_names.index(column) if column in odd.column_names else None
            odd = odd.append_column(column, value) if place is None else odd.set_column(place, column, value)
            yield Case(reader, f"parquet: {value.type} as {column}", file("a.parquet", table_bytes(odd)))
    yield from no_files(reader, "a.json")


KNOWN = [{"id": f"image {n}", "name": ("Luna", "Ben")[n % 2], "side": "left"} for n in range(3)]
PAIRS = [{"id_u": f"image {2 * n}", "id_v": f"image {2 * n + 1}", "value": "same"} for n in range(3)]


def catalogues() -> Iterator[Case]:
    """Individuals that are known already: tables, pairs, folders and Camtrap DP packages."""
    for name, document in (("pictures", KNOWN), ("pairs", PAIRS)):
        for seed in range(12 * ROUNDS):
            yield Case("catalogue", f"{name}: changed {seed}", file("a.json", as_json(mutated(document, seed))))
    yield from _tables("catalogue", KNOWN)
    texts = {
        "a name that is a formula": 'id,name\nimage 0,"=HYPERLINK(""http://x"")"\n',
        "a name with a line end": 'id,name\nimage 0,"a\nb"\n',
        "a name that turns text around": "id,name\nimage 0,a\u202eb\n",
        "a name without end": f"id,name\nimage 0,{'x' * 100_000}\n",
        "a side without end": f"id,name,side\nimage 0,a,{'x' * 100_000}\n",
        "a path that escapes": "path,name\n../../../etc/passwd,a\n",
        "a thousand names": "id,name\n" + "".join(f"image 0,n{n}\n" for n in range(1000)),
        "pairs that contradict": "id_u,id_v,value\nimage 0,image 1,same\nimage 1,image 2,same\nimage 0,image 2,different\n",
        "a pair of one": "id_u,id_v,value\nimage 0,image 0,same\n",
        "two kinds of columns": "id,name,id_u,id_v\nimage 0,a,b,c\n",
    }
    for name, text in texts.items():
        yield Case("catalogue", f"csv: {name}", file("a.csv", text))
    observations = "observationID,mediaID,individualID\nimage 0,m,Luna\n"
    for name, text in {"whole": observations, "empty": "", "zeros": "\0", "another": "a,b\n1,2\n"}.items():
        yield Case("catalogue", f"camtrap: {name}", partial(_below, file("p/observations.csv", text)))
    yield from (_in_folder("catalogue", f"camtrap: {what}", "observations.csv", make) for what, make in NO_FILES.items())
    folders: dict[str, tuple[bytes, ...]] = {
        "half a character": (b"Lu\xedna/image 0",),
        "a line end": (b"Lu\nna/image 0", b"Ben/a\nb"),
        "text turned around": ("Lu\u202ena/image 0".encode(),),
        "a long name": (b"x" * 200 + b"/image 0",),
        "spaces": (b"   /image 0",),
        "one picture in two": (b"Luna/image 0", b"Ben/image 0"),
        "nothing below": (b"image 0",),
    }
    for name, paths in folders.items():
        yield Case("catalogue", f"folder: {name}", partial(_with_files, paths=paths))
    yield Case("catalogue", "folder: a link to a folder above", _looping)
    odd = os.fsdecode(b"kn\xedown.csv")
    yield Case("catalogue", "csv: a file whose name is no text", file(odd, "id,name\nimage 0,a\n"))


def _below(write: Write, folder: Path) -> Path:
    return write(folder).parent


def _in_folder(reader: str, name: str, entry: str, make: Callable[[Path], None]) -> Case:
    def write(folder: Path) -> Path:
        (folder / "p").mkdir()
        make(folder / "p" / entry)
        return folder / "p"

    return Case(reader, name, write)


def _with_files(folder: Path, paths: tuple[bytes, ...]) -> Path:
    for path in paths:
        whole = Path(os.fsdecode(os.fsencode(folder / "known") + b"/" + path))
        whole.parent.mkdir(parents=True, exist_ok=True)
        whole.touch()
    return folder / "known"


def _looping(folder: Path) -> Path:
    (folder / "known" / "Luna").mkdir(parents=True)
    (folder / "known" / "Luna" / "again").symlink_to(folder / "known", target_is_directory=True)
    os.mkfifo(folder / "known" / "Luna" / "image 0")
    return folder / "known"


PACKAGE = {"datapackage.json": b"{}", "observations.csv": b"observationID,individualID\nimage 0,\nimage 1,\n"}


def package(folder: Path, more: dict[str, bytes], odd: tuple[str, Callable[[Path], None]] | None = None) -> Path:
    """A Camtrap DP package with other files, one of them perhaps none."""
    made = folder / "package"
    made.mkdir()
    for name, data in {**PACKAGE, **more}.items():
        (made / name).write_bytes(data)
    if odd is not None:
        (made / odd[0]).unlink(missing_ok=True)
        odd[1](made / odd[0])
    return made


def packages() -> Iterator[Case]:
    """Camtrap DP packages that individuals are written into."""
    plain, head = PACKAGE["observations.csv"], b"observationID,individualID\n"
    observations = {
        "empty": b"",
        "a header": head,
        "no such column": b"a,b\n1,2\n",
        "zeros": head + b"image 0,\0\n",
        "no UTF-8": head + b"\xff,\xfe\n",
        "short rows": head + b"image 0\n\n",
        "a quote that never ends": head + b'"image 0,\n',
        "a cell without end": head + b"x" * 200_000 + b",\n",
        **{f"flipped {seed}": flipped(plain, seed) for seed in range(6 * ROUNDS)},
    }
    yield Case("package", "whole", partial(package, more={}))
    for name, data in observations.items():
        yield Case("package", name, partial(package, more={"observations.csv": data}))
    for what, make in NO_FILES.items():
        for name in ("datapackage.json", "observations.csv", "media.csv"):
            yield Case("package", f"{what} as {name}", partial(package, more={}, odd=(name, make)))


PLACES = [{"place": f"ford {n}", "latitude": -3.5 + n, "longitude": 29.8, "start": "2026-01-01"} for n in range(3)]


def places() -> Iterator[Case]:
    """Where cameras are, for formats that need coordinates."""
    for seed in range(10 * ROUNDS):
        yield Case("places", f"changed {seed}", file("a.json", as_json(mutated(PLACES, seed))))
    yield from _tables("places", PLACES)
    for name, cells in {"beyond the pole": "91,0", "endless": "1e400,0", "none": "nan,nan", "words": "north,=1+1"}.items():
        yield Case("places", f"csv: {name}", file("a.csv", f"place,latitude,longitude\nford,{cells}\n"))


BURSTS = [{"id": f"image {n}", "burst": f"b{n // 2}"} for n in range(3)]
CAMERAS = [{"camera": "ford", "opposite": "hill"}] * 3
DEATHS = [{"name": ("Luna", "Ben")[n % 2], "died": f"2026-05-0{n + 2}"} for n in range(3)]


def facts() -> Iterator[Case]:
    """What time, place and tables say: bursts, cameras that stand opposite each other, deaths."""
    for reader, rows in (("encounters", BURSTS), ("cameras", CAMERAS), ("deaths", DEATHS)):
        for seed in range(10 * ROUNDS):
            yield Case(reader, f"changed {seed}", file("a.json", as_json(mutated(rows, seed))))
        yield from _tables(reader, rows)
    days = {
        "the last day": "9999-12-31",
        "the first day": "0001-01-01",
        "a zone": "9999-12-31T00:00:00-14:00",
        "a day in words": "May",
    }
    for name, day in days.items():
        yield Case("deaths", f"csv: {name}", file("a.csv", f"name,died\nLuna,{day}\n"))
    yield Case(
        "deaths", "parquet: a date", file("a.parquet", table_bytes(pa.table({"name": ["Luna"], "died": [date(2026, 5, 3)]})))
    )
    yield Case("encounters", "csv: one burst of all", file("a.csv", "id,burst\n" + "".join(f"image {n},1\n" for n in range(20))))
    yield Case("cameras", "csv: itself", file("a.csv", "camera,opposite\nford,ford\n"))


SIDED = [{"path": f"{n}.png", "id": f"i{n}", "side": ("left", "right", "both")[n]} for n in range(3)]


def sides() -> Iterator[Case]:
    """Which side of an animal pictures show, in a column of a manifest."""
    for seed in range(10 * ROUNDS):
        text = "\n".join(as_json(row) for row in mutated(SIDED, seed))
        yield Case("manifest", f"sides: changed {seed}", with_pictures(file("m.jsonl", text)))
    words = {"endless": "left" * 100_000, "half a character": "le\ud800ft", "zeros": "l\0", "both, twice": "both"}
    for name, word in words.items():
        rows = "".join(f'{n}.png,{n}#right,"{word}"\n' for n in range(2)) + "0.png,0#right#right,both\n"
        yield Case("manifest", f"sides: {name}", with_pictures(file("m.csv", f"path,id,side\n{rows}")))
    for kind in (pa.array([1, 2, 3]), pa.array([[1]] * 3), pa.array([True] * 3), pa.array([b"left", b"\xff", None])):
        table = pa.table({"path": [f"{n}.png" for n in range(3)], "side": kind})
        yield Case("manifest", f"sides: {kind.type}", with_pictures(file("m.parquet", table_bytes(table))))


JOB = """workspace = "census"
[collection]
images = "photos"
[embed]
encoder = "pixels"
[neighbors]
k = 5
[[campaign]]
kind = "count"
budget = 10
method = "nis"
[campaign.parameters]
ratio = 5
"""
LITERALS = (
    '"x"',
    "-1",
    "1.5",
    "true",
    "[]",
    "{}",
    "nan",
    "inf",
    "1979-05-27",
    '"\\u0000"',
    "1" + "0" * 400,
    '""',
    "[[1]]",
    '"people"',
)


def assigned(text: str, seed: int) -> str:
    """TOML with the value of one of its names replaced, or the line taken away or doubled."""
    rng = random.Random(seed)
    lines = text.splitlines()
    at = rng.choice([number for number, line in enumerate(lines) if "=" in line and not line.startswith("#")])
    how = rng.random()
    name = lines[at].partition("=")[0]
    lines[at : at + 1] = [] if how < 0.15 else [lines[at]] * 2 if how < 0.2 else [f"{name}= {rng.choice(LITERALS)}"]
    return "\n".join(lines) + "\n"


def jobs() -> Iterator[Case]:
    long = "a = [\n" + "[1],\n" * 20_000 + "]\n"
    texts = (
        "",
        "=",
        "a = ",
        "\0",
        deep("a = [", "]"),
        "a = " + deep("[", "]"),
        "[" * 500,
        "a" * 100_000,
        "\udcff",
        long,
        "a.b" + ".c" * 20_000 + " = 1",
    )
    for number, text in enumerate(texts):
        yield Case("job", f"text {number}", file("job.toml", text.encode(errors="surrogateescape")))
    for seed in range(20 * ROUNDS):
        yield Case("job", f"changed {seed}", file("job.toml", assigned(JOB, seed)))
    yield from no_files("job", "job.toml")


READERS: dict[str, Callable[[], Iterator[Case]]] = {
    "coco": coco,
    "manifests": manifests,
    "camtraps": camtraps,
    "folders": folders,
    "vectors": vectors,
    "labels": labels,
    "answers": answers,
    "gold": gold,
    "jobs": jobs,
    "catalogues": catalogues,
    "packages": packages,
    "places": places,
    "facts": facts,
    "distances": distances,
    "sides": sides,
}
