"""The commands of the how-to pages run as they are written, each page on a copy of one workspace that is made once."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.butterflies import photograph
from handbook.blocks import DOCS, Block, blocks, commands
from tests.flows.conftest import Shown, cccount, environment
from tests.handbook.elsewhere import COMMANDS, excuse

PHOTOS, INDIVIDUALS = 48, 8
BEFORE = {  # what a page takes for granted
    "individuals": ["annotators add census ana"],
    "offline-pack": ["count census --budget 200"],
    "other-tools": ["count census --budget 200"],
    "sides-and-facts": ["catalogue import census --file known.csv"],
}
SWAPPED = {
    17: 2,
    18: 1,
    20: 2,
    26: 4,
    31: 0,
    32: 7,
}  # so that Luna, the individual 3, has the pictures of a page
SHELL = ("bash", "console")
PAGES = [page for page in sorted((DOCS / "how-to").glob("*.md")) if page.stem != "index"]
PRELUDE = """
import numpy as np
from sklearn.datasets import load_iris
X, y = load_iris(return_X_y=True)
class Person:
    def __call__(self, u, v): return bool(y[u] == y[v])
    def page(self, u, vs): return [float(y[u] == y[v]) for v in vs]
person = Person()
def rate(u, v): return float(np.exp(-np.square(X[u] - X[v]).sum()))
from cccount_dist import PairwiseClusterer
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the pages assume it: photographs with time, place and side, tables, and a workspace with groups and a count."""
    folder = tmp_path_factory.mktemp("howto")
    rows, bursts = ["path,id,label,group,taken_at,latitude,longitude,side"], ["id,encounter"]
    for name in ("a", "card2/01/x"):
        (folder / name).mkdir(parents=True)
    for number in range(PHOTOS):
        who, take = SWAPPED.get(number, number % INDIVIDUALS), number // INDIVIDUALS
        place, at = (("ford", "-3.500,29.800"), ("hill", "-3.510,29.820"))[take % 2]
        name = f"a/{number:03d}.jpg"
        photograph(who, take, size=(48, 36)).save(folder / name)
        when = f"2026-05-{1 + take:02d}T{6 + who:02d}:00:{number % 60:02d}"
        rows.append(f"{name},{name},{who},{place},{when},{at},{'left' if take < 4 else 'right'}")
        bursts.append(f"{name},{who}-{take}")
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2027:05:01 06:00:00"
    photograph(1, 99, size=(48, 36)).save(folder / "card2/01/x/IMG_1_L.jpg", exif=exif)
    shutil.copy(folder / "a/003.jpg", folder / "who-is-this.jpg")
    texts = {
        "photos.csv": "\n".join(rows),
        "bursts.csv": "\n".join(bursts),
        "cameras.csv": "camera,opposite\nford,hill",
        "known.csv": "id,name\na/002.jpg,Luna",
        "deaths.csv": "name,died\nLuna,2026-06-01",
        "places.csv": "place,latitude,longitude\nford,-3.500,29.800\nhill,-3.510,29.820",
        "gold.csv": "id_u,id_v,value\na/000.jpg,a/008.jpg,same",
    }
    for file, text in texts.items():
        (folder / file).write_text(text + "\n")
    numbers = "import numpy as np; r = np.random.default_rng(0); [np.save(n, r.normal(size=(40, 8)).astype('f4')) for n in "
    subprocess.run(
        [sys.executable, "-c", numbers + "('clip.npy', 'shape.npy', 'vectors.npy')]"], cwd=folder, check=True, timeout=60
    )
    (folder / "names.csv").write_text("id,label\n" + "".join(f"{item},{item % 4}\n" for item in range(40)))
    points = np.random.default_rng(0).normal(size=(300, 3))
    np.save(folder / "distances.npy", np.linalg.norm(points[:, None] - points, axis=2))
    (folder / "classes.csv").write_text("id,label\n" + "".join(f"{item},{item % 24}\n" for item in range(300)))
    for line in (
        "init census --manifest photos.csv --labels label",
        "embed census --encoder hog --workers 1",
        "neighbors census --k 20 --workers 1",
        "cluster census --budget 200 --oracle labels --sides together",
        "count census --campaign old --budget 60 --oracle labels --sides together",
        "init later --manifest photos.csv",
    ):
        done = cccount(*shlex.split(line), cwd=folder)
        assert done.code == 0, f"{line}\n{done.err}"
    return folder


class Visitor:
    """Somebody who types what a page says, in a folder that is ready."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids: list[str] = []  # of corrections that were made

    def type(self, line: str, block: Block) -> None:
        for command in (part.strip() for part in line.split("&&")):
            if any(re.search(pattern, command) for pattern in COMMANDS):
                continue
            words = shlex.split(re.split(r"\s+#", command)[0])
            assert words[0] == "cccount", f"{block}: {command}"
            done = cccount(*(self.ids[-1] if word == "ID" else word for word in words[1:]), cwd=self.folder)
            assert done.code == 0, f"{block}: {command}\n{done.err}\n{done.out}"
            self.remember(done)

    def remember(self, done: Shown) -> None:
        self.ids += re.findall(r"cccount individuals undo \S+ (\S+)", done.out)

    def run(self, page: Path) -> None:
        """Run the Python of a page, all of it in one interpreter."""
        code = [block.text for block in blocks(page) if block.language == "python" and not excuse(block)]
        program = [sys.executable, "-c", "\n".join([PRELUDE if page.stem == "group" else "", *code])]
        done = subprocess.run(
            program, cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{page.name}\n{done.stderr}"

    def look_for(self, block: Block) -> None:
        """The files that a block names which cannot run here must be there, where the commands of the page have written them."""
        named = [place for place in re.findall(r'"(out/[^"]+)"', block.text) if not place.startswith("out/package")]
        assert all((self.folder / place).exists() for place in named), f"{block}: {named}"


@pytest.fixture
def visitor(shared: Path, tmp_path: Path) -> Visitor:
    return Visitor(shutil.copytree(shared, tmp_path / "folder"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_how_to_page_works_as_it_is_written(page: Path, visitor: Visitor) -> None:
    for line in BEFORE.get(page.stem, []):
        assert cccount(*shlex.split(line), cwd=visitor.folder).code == 0, line
    for block in blocks(page):
        if block.title is not None:
            (visitor.folder / block.title).write_text(block.text)
        elif block.language in SHELL:
            for line in commands(block.text):
                visitor.type(line, block)
        else:
            assert block.language == "python" or excuse(block), f"{block}: nothing runs this block"
    if any(block.language == "python" and not excuse(block) for block in blocks(page)):
        visitor.run(page)
    for block in filter(excuse, blocks(page)):
        visitor.look_for(block)
