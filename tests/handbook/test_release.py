"""What a release says of itself is the same everywhere."""

import re
import tomllib

from handbook.blocks import DOCS
from storage.version import __version__

ROOT = DOCS.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_the_same_in_code_changes_and_citation() -> None:
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "storage/version.py"
    assert re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE) == [__version__]
    assert re.findall(r"^## (\S+) ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0] == __version__


def test_every_version_that_wrote_workspaces_is_in_the_list_of_changes() -> None:
    listed = set(re.findall(r"^## (\d\S*) ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE))
    kept = {path.name for path in (ROOT / "tests/workspaces").iterdir() if re.fullmatch(r"\d+(\.\d+)+", path.name)}
    assert kept == listed


def test_a_fragment_is_named_so_that_the_list_of_changes_takes_it_in() -> None:
    kinds = {kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"]}
    names = {path.name for path in (ROOT / "changes").iterdir()} - set(PYPROJECT["tool"]["towncrier"]["ignore"])
    assert not [name for name in names if not re.fullmatch(rf"[\w.+-]+\.(?:{'|'.join(kinds)})\.md", name)]


def test_make_knows_every_target_that_the_guide_names() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    texts = (ROOT / "CONTRIBUTING.md").read_text() + (ROOT / "README.md").read_text()
    assert set(re.findall(r"`make ([a-z]+)`", texts)) <= targets


def test_every_path_that_the_guide_names_is_there() -> None:
    """`cccount_dist/` is left out where a path lies in it, as the guide does."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rooms = "storage|flows|tests|benchmarks|docs|handbook|changes|cccount_dist|sampling|review|embedding|counting|campaign"
    named = set(re.findall(rf"\b((?:{rooms})/[\w./-]*[\w/])", text))
    missing = {path for path in named if not any((ROOT / top / path).exists() for top in ("", "cccount_dist"))}
    assert not missing
