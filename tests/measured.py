"""What commands take: each runs in a fork of a process that has everything imported, and is watched from outside.

    python -m tests.measured --items 100000 --dimensions 128 --answers 20000

Memory is anonymous memory (RssAnon) beyond that of the fork: pages of mapped files can be had back, and are not counted.
"""

import argparse
import io
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image

import cccount_dist.kinds  # noqa: F401  registers the methods of ours
from benchmarks.pasting import paste
from cccount_dist.embedding.given import ATTRIBUTES
from cccount_dist.room import Size
from cccount_dist.sampling.methods import METHODS
from cccount_dist.taken import TAKEN
from storage.arrays import JSON
from storage.collection import collection_table
from storage.schema import DEGREE, EMBEDDINGS, NEIGHBOR_INDEX, NEIGHBOR_SIMILARITY
from storage.workspace import Workspace
from tests.command import be_the_command
from tests.flows.conftest import environment
from tests.forkserver import SERVER

Words = list[str | Path]  # of a command
K = 50
CLASSES = 100


def peak_of(*arguments: str | Path, variables: dict[str, str] | None = None) -> int:
    """Return how much a command takes at most beyond what it began with; `AssertionError` if it fails."""
    with tempfile.TemporaryDirectory(prefix="cccount-measured-") as folder:
        said = [Path(folder) / "out", Path(folder) / "err"]
        surroundings = environment(OMP_NUM_THREADS="1", **(variables or {}))
        process = SERVER.Process(target=be_the_command, args=([*map(str, arguments)], folder, surroundings, said))
        process.start()
        seen: list[int] = []
        while process.is_alive():
            seen += anonymous(process.pid)
            time.sleep(0.002)
        process.join()
        assert process.exitcode == 0, f"{arguments}: {said[1].read_text()}"
    return max(seen) - seen[0]


def anonymous(pid: int | None) -> list[int]:
    """Bytes of a process that no file backs; nothing if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")]


class Made:
    """A collection of tiny files of different lengths, a table of it, vectors, and a workspace with everything in it."""

    def __init__(self, folder: Path, items: int, dimensions: int, answers: int) -> None:
        self.folder, self.items, self.dimensions, self.answers = folder, items, dimensions, answers
        self.names = [
            f"reserve-of-the-north/camera-{n // 1000:04d}/deployment-{n // 5000:03d}/IMG_{n:08d}.JPG" for n in range(items)
        ]
        self.labels = [f"individual {n % CLASSES:04d}" for n in range(items)]
        self.moments = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=int(n)) for n in range(items)]
        self.groups = [f"camera-{n // 1000:04d}" for n in range(items)]

    def images(self) -> Path:
        """A folder of files that are different by their length alone."""
        root, smallest = self.folder / "images", io.BytesIO()
        Image.new("L", (1, 1)).save(smallest, "png")
        for number, name in enumerate(self.names):
            path = root / name
            if number % 1000 == 0:
                path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.write(smallest.getvalue())
                file.truncate(file.tell() + number)
        return root

    def manifest(self, form: str, folder: str = "images") -> Path:
        path = self.folder / folder / f"manifest.{form}"
        columns = {"path": self.names, "label": self.labels, "group": self.groups, "taken_at": [str(one) for one in self.moments]}
        if form == "csv":
            rows = zip(*columns.values(), strict=True)
            path.write_text("\n".join([",".join(columns), *map(",".join, rows)]))
        else:
            pq.write_table(pa.table(columns), path)
        return path

    def vectors(self) -> Path:
        path = self.folder / "vectors.npy"
        out = np.lib.format.open_memmap(path, "w+", np.float32, (self.items, self.dimensions))
        for start, block in self.blocks():
            out[start : start + len(block)] = block
        out.flush()
        return path

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        draws = np.random.default_rng(0)
        centres = draws.standard_normal((CLASSES, self.dimensions), dtype=np.float32)
        for start in range(0, self.items, 4096):
            rows = np.arange(start, min(start + 4096, self.items))
            yield start, centres[rows % CLASSES] + draws.standard_normal((len(rows), self.dimensions), dtype=np.float32)

    def workspace(self) -> Path:
        """Vectors, and neighbours that are drawn."""
        place = self.folder / "ws"
        uris = [str(self.folder / "images" / name) for name in self.names]
        columns: dict[str, Sequence[object]] = {"uri": uris, "label": self.labels, "group": self.groups, "taken_at": self.moments}
        opened = Workspace.create(place, collection_table(self.names, **columns))
        opened.finish()
        array = opened.create_array(EMBEDDINGS, (self.items, self.dimensions), attributes=ATTRIBUTES)
        source = np.load(self.folder / "vectors.npy", mmap_mode="r")
        for shard in range(array.shards):
            start, stop = array.shard_range(shard)
            array.write_shard(shard, np.ascontiguousarray(source[start:stop]), notes={"failed": {}})
        attributes: dict[str, JSON] = {
            "engine": "exact", "metric": "cosine", "k": K, "embeddings": array.fingerprint(), "tile_rows": 8192, "recall": None,
        }  # fmt: skip
        draws = np.random.default_rng(1)
        for spec, shape in ((NEIGHBOR_INDEX, (self.items, K)), (NEIGHBOR_SIMILARITY, (self.items, K)), (DEGREE, (self.items,))):
            made = opened.create_array(spec, shape, attributes=attributes, shard_rows=8192)
            for shard in range(made.shards):
                start, stop = made.shard_range(shard)
                made.write_shard(shard, self._drawn(spec.name, start, stop, draws))
        return place

    def _drawn(self, name: str, start: int, stop: int, draws: np.random.Generator) -> NDArray[np.generic]:
        count = stop - start
        if name == NEIGHBOR_INDEX.name:
            return ((np.arange(start, stop)[:, None] + CLASSES * np.arange(1, K + 1)) % self.items).astype(np.int32)
        if name == NEIGHBOR_SIMILARITY.name:
            return np.sort(draws.random((count, K), np.float32), axis=1)[:, ::-1].copy()
        return draws.random(count) * 100 + 1

    def commands(self) -> Iterator["Watched"]:
        """Commands, in an order in which each finds what it needs."""
        new, ws = self.folder / "new", self.folder / "ws"
        here = Size(self.items, self.dimensions, K, CLASSES, self.answers)
        names, twice = replace(here, dimensions=0), replace(here, items=2 * self.items)
        yield Watched("init --images", "init", names, ["init", f"{new}-images", "--images", self.images()])
        for form in ("csv", "parquet"):
            yield Watched(f"init --manifest {form}", "init", names, ["init", f"{new}-{form}", "--manifest", self.manifest(form)])
        shutil.copytree(self.folder / "images", self.folder / "more", copy_function=os.link)  # other files of the same names
        more: Words = ["--manifest", self.manifest("csv", "more"), "--prefix", "b/"]
        yield Watched("extend --manifest csv", "extend", twice, ["extend", f"{new}-csv", *more])
        yield Watched("init --embeddings", "init --embeddings", here, ["init", f"{new}-given", "--embeddings", self.vectors()])
        more = ["--embeddings", self.folder / "vectors.npy", "--prefix", "b/"]
        yield Watched("extend --embeddings", "extend --embeddings", twice, ["extend", f"{new}-given", *more])
        self.workspace()
        yield Watched("bursts", "bursts", here, ["bursts", ws, f"{new}-bursts", "--similarity", "0.99"])
        asked: Words = ["--oracle", "labels", "--budget", str(self.answers)]
        yield Watched(
            "count --method nis", "campaign", here, ["count", ws, "--campaign", "nis", "--method", "nis", *asked], "nis"
        )
        yield Watched("status", "status", here, ["status", ws])
        yield Watched("advance", "campaign", here, ["advance", ws, "--campaign", "nis"], "nis")
        yield Watched("report of a count", "report", here, ["report", ws, "--campaign", "nis"])
        for way in ("export", "import"):
            file: Words = ["--campaign", "nis", "--file", self.folder / "answers.csv"]
            size = here if way == "export" else replace(here, answers=2 * self.answers)
            yield Watched(f"answers {way}", f"answers {way}", size, ["answers", way, ws, *file])
        few: Words = ["--oracle", "labels", "--budget", "200"]
        fewer = replace(here, answers=200)
        subclusters: Words = ["subcluster", ws, "--clusters", str(CLASSES), "--size", "5", *few]
        yield Watched("subcluster", "campaign", fewer, subclusters, "active")
        yield Watched("browse", "browse", replace(fewer, shown=5 * CLASSES), ["browse", ws])
        yield Watched("verify", "verify", here, ["verify", ws])
        yield Watched("metrics", "status", here, ["metrics", ws])
        people: Words = ["count", ws, "--campaign", "people", "--method", "placing"]
        yield Watched("count --method placing", "campaign", fewer, people, "placing")
        yield Watched("pack", "campaign", fewer, ["pack", ws, "--campaign", "people", "--file", self.folder / "pack.html"])
        known = self.folder / "known.csv"
        rows = map(",".join, zip(self.names, self.labels, strict=True))
        known.write_text("\n".join(["id,name", *rows]))
        size = replace(here, answers=self.items)
        yield Watched("catalogue import", "catalogue import", size, ["catalogue", "import", ws, "--file", known])
        bursts = self.folder / "bursts.csv"
        bursts.write_text("\n".join(["id,burst", *(f"{name},{number // 2}" for number, name in enumerate(self.names))]))
        size = replace(here, answers=2 * self.items)  # what the file may say, and the pairs of the catalogue
        yield Watched("facts encounters", "facts", size, ["facts", "encounters", ws, "--file", bursts])
        (self.folder / "images").rename(self.folder / "moved")
        yield Watched("relocate", "relocate", names, ["relocate", ws, "--images", self.folder / "moved"])
        yield Watched(
            "cluster --method catalogue", "campaign", fewer, ["cluster", ws, "--method", "catalogue", *few], "catalogue"
        )
        yield Watched("report of a cluster", "report", fewer, ["report", ws, "--campaign", "cluster"])
        pairs = replace(here, answers=200 + self.items // 2)  # of the catalogue
        yield Watched("individuals", "individuals", pairs, ["individuals", ws])
        for form in ("csv", "coco"):
            yield Watched(f"export {form}", "export", pairs, ["export", ws, "--format", form, "--to", self.folder / form])
        yield Watched("baselines", "baselines", here, ["baselines", ws])


@dataclass(frozen=True, slots=True)
class Watched:
    """A command that is measured: what is said of it, its line in `TAKEN`, how large what it works on is, and its method."""

    what: str
    line: str
    size: Size
    arguments: Words
    method: str | None = None

    @property
    def projected(self) -> int:
        """What it takes at most, with its sampler."""
        method = next((one for one in METHODS if one.name == self.method), None)
        of_sampler = 0 if method is None or method.memory is None else method.memory(self.size, method.read({}))
        return TAKEN[self.line].bytes(self.size) + of_sampler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--answers", type=int, default=5_000)
    parser.add_argument("--only", nargs="*", default=[], help="what these begin with")
    parser.add_argument("--write", type=Path, help="the page with the table")
    told = parser.parse_args()
    how = f"`python -m tests.measured --items {told.items} --dimensions {told.dimensions} --answers {told.answers}`"
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, {how}:", "", "| command | measured, MiB | projected, MiB |", "|---|---:|---:|"]
    with tempfile.TemporaryDirectory(prefix="cccount-measured-") as name:
        for one in Made(Path(name), told.items, told.dimensions, told.answers).commands():
            if told.only and not one.what.startswith(tuple(told.only)):
                continue
            found = peak_of(*one.arguments)
            lines.append(f"| {one.what} | {found / 2**20:,.0f} | {one.projected / 2**20:,.0f} |")
            sys.stdout.write(f"{lines[-1]} {one.projected / found:.2f}\n")
            sys.stdout.flush()
    if told.write is not None:
        paste(told.write, "memory", lines)


if __name__ == "__main__":
    main()
