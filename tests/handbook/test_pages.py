"""What stands in the pages is true: code parses, commands and options exist, links lead somewhere, words are spelt right."""

import ast
import json
import re
import shlex
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cccount_dist.campaign.outcome import Outcome
from flows.stages.methods import list_methods
from handbook import commands, dependencies, jsonfields, registries
from handbook.blocks import DOCS, Block, blocks, every_block
from handbook.hooks import GENERATED, MOVED, PROJECT, SECTIONS, on_post_build
from handbook.spelling import misspelt
from storage.schema import ArraySpec, TableSpec

ROOT = DOCS.parent
PAGES = [*sorted(DOCS.rglob("*.md")), *(ROOT / name for name in ("README.md", *PROJECT) if (ROOT / name).exists())]
BLOCKS = [*every_block(), *blocks(ROOT / "README.md")]
SHELL = [block for block in BLOCKS if block.language in ("bash", "", "console") and "cccount " in block.text]


@cache
def known() -> dict[str, Any]:
    return dict(commands.every_command())


def called(text: str) -> list[list[str]]:
    """The words of every call of `cccount` in a shell block, without what is before or behind it on the line."""
    lines = [re.split(r"\s#", line)[0] for line in text.replace("\\\n", " ").splitlines()]
    calls = [line for line in lines if "$(" not in line or line.startswith("cccount ")]
    pieces = [piece for line in calls for piece in re.split(r"&&|\||;", line)]
    found = [shlex.split(piece.replace("…", ""), comments=True) for piece in pieces if re.search(r"(^|\s)cccount\s", piece)]
    return [words[words.index("cccount") + 1 :] for words in found if "cccount" in words]


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_every_command_of_a_page_and_its_options_exist(block: Block) -> None:
    for words in called(block.text):
        depth = next((many for many in (2, 1) if " ".join(["cccount", *words[:many]]) in known()), None)
        if depth is None:
            groups = {name.rpartition(" ")[0] for name in known()}
            assert not words or words[0].startswith("--") or f"cccount {words[0]}" in groups, words
            continue
        options = {
            name for one in known()[" ".join(["cccount", *words[:depth]])].params for name in (*one.opts, *one.secondary_opts)
        }
        for word in words[depth:]:
            if word.startswith("--") and word != "--help":
                assert word.partition("=")[0] in options, f"{block}: {' '.join(words)} has no {word}"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language in ("python", "toml", "json")], ids=str)
def test_code_of_a_page_can_be_read_by_its_language(block: Block) -> None:
    if block.language == "python":
        for node in ast.walk(ast.parse(block.text)):
            if (
                isinstance(node, ast.ImportFrom)
                and node.module is not None
                and node.module.startswith(("cccount_dist", "flows", "storage"))
            ):
                module = __import__(node.module, fromlist=["x"])
                assert all(hasattr(module, name.name) for name in node.names), f"{block}: {ast.unparse(node)}"
    elif block.language == "toml":
        tomllib.loads(block.text)
    else:
        json.loads(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_module_and_file_that_a_page_names_is_there(page: Path) -> None:
    text = "" if page.name == "CHANGELOG.md" else page.read_text()  # which also names what is gone
    for module in re.findall(r"python -m ((?:benchmarks|tests|storage|flows)[\w.]*)", text):
        assert find_spec(module), f"{page.name}: python -m {module}"
    for link in re.findall(r"\]\(([^)#\s]+?)(?:#[^)]*)?\)", text):
        inside = DOCS.joinpath(*page.relative_to(DOCS).parts[:-1]) if page.is_relative_to(DOCS) else ROOT
        place = (inside / link).resolve()
        generated = place.is_relative_to(DOCS) and str(place.relative_to(DOCS)) in GENERATED
        assert "://" in link or link.startswith("mailto:") or place.exists() or generated, f"{page.name}: {link}"


def test_every_page_lies_in_one_of_the_sections() -> None:
    loose = {page.name for page in DOCS.glob("*.md")}
    assert loose == {"index.md", "glossary.md"}
    assert {page.parent.name for page in DOCS.glob("*/*.md")} <= set(SECTIONS)


def test_an_old_address_of_the_site_leads_to_the_page_that_moved(tmp_path: Path) -> None:
    on_post_build({"site_dir": str(tmp_path)})
    assert "papers.html" in MOVED  # issue 25 names docs/papers.md
    for old, now in MOVED.items():
        assert f'url={now}"' in (tmp_path / old).read_text()
        assert (DOCS / now).with_suffix(".md").exists()


@pytest.mark.parametrize("page", sorted((DOCS / "evidence").glob("*.md")), ids=lambda page: page.stem)
def test_a_page_of_evidence_says_by_what_command_its_tables_were_made(page: Path) -> None:
    text = page.read_text()
    assert page.stem == "index" or re.search(r"`(?:nice )?python -m |`benchmarks/\w+\.py`|make [a-z]+|side by side", text)


def test_tables_of_benchmarks_lie_in_the_evidence_only() -> None:
    marked = [page for page in DOCS.rglob("*.md") if re.search(r"^<!-- /[\w-]+ -->$", page.read_text(), re.MULTILINE)]
    assert marked
    assert {page.parent.name for page in marked} == {"evidence"}


KINDS = {section: sorted((DOCS / section).rglob("*.md")) for section in ("tutorials", "how-to", "explanation", "evidence")}
NUMBER = re.compile(r"[<>+±≈~ ]*\d[\d.,]*(?: ?(?:%|s|ms|h|GB|GiB|MB|MiB))?")


def figures(line: str) -> int:
    """How many cells of a table's row are nothing but a figure."""
    return sum(bool(NUMBER.fullmatch(cell.strip())) for cell in line.strip("|").split("|")) if line.startswith("|") else 0


@pytest.mark.parametrize("page", [one for kind in ("tutorials", "how-to", "explanation") for one in KINDS[kind]], ids=str)
def test_measured_tables_stand_in_the_evidence_only(page: Path) -> None:
    found = [line for line in page.read_text().splitlines() if figures(line) > 1]
    assert not found
    assert not re.search(r"^\*Written \d{4}", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", [*KINDS["explanation"], *KINDS["evidence"]], ids=str)
def test_an_explanation_and_evidence_give_no_steps_to_follow(page: Path) -> None:
    steps = [block for block in blocks(page) if re.search(r"^cccount \S+ \S", block.text, re.MULTILINE)]
    assert not steps


@pytest.mark.parametrize("page", KINDS["how-to"], ids=str)
def test_a_how_to_page_explains_and_measures_nothing(page: Path) -> None:
    heads = re.findall(r"^(?:#+|\| question \|) .*$", page.read_text(), re.MULTILINE)
    assert not [head for head in heads if re.search(r"How it works|[Ww]hy |Measured|\| answer \|", head)]
    assert page.stem == "index" or list(blocks(page)), "a how-to page without anything to type"


def test_the_reference_has_every_command_option_method_and_parameter() -> None:
    page = commands.page()
    for name, command in known().items():
        assert f"\n## {name}\n" in page
        assert all(f"`{one.opts[0]}" in page for one in command.params if one.param_type_name == "option")
    methods = registries.methods()
    for one in list_methods().methods:
        section = methods.partition(f"## {one.kind}: {one.name}\n")[2].partition("\n## ")[0]
        assert one.help in section
        assert all(f"`{given.name}`" in section for given in one.parameters)


def test_the_reference_has_every_array_and_column() -> None:
    from storage import schema

    page = registries.arrays()
    for one in vars(schema).values():
        if isinstance(one, ArraySpec):
            assert f"`{one.name}`" in page
        elif isinstance(one, TableSpec):
            assert all(f"`{column.name}`" in page for column in one.columns if column.name != "chain")


def test_the_reference_has_the_fields_of_every_outcome() -> None:
    page = jsonfields.page()
    found = jsonfields.outcomes()
    assert len(found) > 30
    assert all(issubclass(one, Outcome) and f"## {one.__name__}\n" in page for one in found)
    assert "`estimate`" in page.partition("## CountOutcome\n")[2].partition("\n## ")[0]


def test_every_dependency_has_its_reason_licence_and_size() -> None:
    needed = [
        dependencies.name_of(one) for one in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    ]
    page = dependencies.page()
    assert list(dependencies.WHY) == needed
    assert all(re.search(rf"^\| {re.escape(name)} \| .* \| \d+\.\d \|$", page, re.MULTILINE) for name in needed)


def test_the_words_of_the_pages_are_spelt_right() -> None:
    """British spelling. A word that is right and unknown goes into `handbook/words.txt`."""
    wrong = {page.name: found for page in PAGES if (found := misspelt(page.read_text()))}
    assert not wrong
