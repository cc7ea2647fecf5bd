"""Text that nobody thought of, for the readers of text: a result or one of our errors, and what was exported comes back."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cccount_dist.embedding.readers.csvform import csv_form
from cccount_dist.embedding.readers.source import read_manifest
from flows.exchange.answerfiles import read_rows
from flows.exchange.answers import COLUMNS
from flows.exchange.csvfiles import csv_bytes, csv_table, guarded, plain
from flows.stages.jobfile import Job
from storage.epochs import Epoch
from storage.errors import CccountError
from storage.identity import read_identity
from storage.settings import Goal, Settings
from storage.tokens import read_tokens
from tests.flows.calls import import_answers
from tests.review.campaigns import make_folder, pairs

QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
CELLS = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([*COLUMNS, "undoes", "flag_item", "annotations", "annotation_id", "data"])
ROWS = st.lists(st.dictionaries(NAMES, JSON | st.sampled_from(["0", 0, 1, "same", "c", "0,5", ""]), max_size=6), max_size=5)


@contextmanager
def written(name: str, data: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path


@QUICK
@given(st.lists(st.fixed_dictionaries({"value": CELLS, "id_u": CELLS, "annotator": CELLS}), max_size=4))
def test_what_is_exported_as_csv_comes_back_as_it_was(rows: list[dict[str, str]]) -> None:
    columns, found = csv_table(csv_bytes(rows, ["question_id", "value", "id_u", "annotator"]), COLUMNS)
    assert columns == ["question_id", "value", "id_u", "annotator"]
    kept = [row for row in rows if any(cell.strip() for cell in row.values())]  # a line without anything is no row
    assert [row for _, row in found] == [{"question_id": "", **row} for row in kept]


@QUICK
@given(CELLS | st.from_regex(r"'*[=+@\-]?.*", fullmatch=True))
def test_a_guarded_cell_is_no_formula_and_is_itself_again(cell: str) -> None:
    assert plain(guarded(cell)) == cell
    assert not guarded(cell).startswith(("=", "+", "-", "@", "\t", "\r"))


@QUICK
@given(st.binary(max_size=200), st.sampled_from([".csv", ".json", ".parquet", ".tsv"]))
def test_any_bytes_as_a_file_of_answers(data: bytes, ending: str) -> None:
    csv_form(data, COLUMNS)
    with written(f"a{ending}", data) as path, suppress(CccountError):
        read_rows(path, COLUMNS)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(make_folder(tmp_path_factory.mktemp("asked") / "ws", pairs(6), items=20).workspace.location)


@QUICK
@given(rows=ROWS)
def test_any_rows_as_answers(place: str, rows: list[dict[str, Any]]) -> None:
    with written("a.json", json.dumps(rows).encode()) as path, suppress(CccountError):
        import_answers(place, "c", str(path))


@QUICK
@given(st.text(max_size=120) | st.from_regex(r"(path|bbox|width|time)([,;\t](path|id|bbox)){0,2}\n.{0,30}\n", fullmatch=True))
def test_any_text_as_a_manifest(text: str) -> None:
    data = text.encode(errors="surrogatepass")
    for name in ("m.csv", "m.jsonl", "m.json"):
        with written(name, data) as path, suppress(CccountError):
            read_manifest(path)


SETTINGS = st.sampled_from(["budget", "oracle", "seed", "level", "kind", "format", "number", "uuid"])


@QUICK
@given(st.dictionaries(SETTINGS, JSON), st.text(max_size=60))
def test_any_text_as_settings(values: dict[str, Any], text: str) -> None:
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items())
    for data in (lines.encode(errors="surrogatepass"), text.encode(errors="surrogatepass")):
        for read in (Settings.from_toml, Goal.from_toml, Epoch.from_toml, read_identity, read_tokens):
            with suppress(CccountError):
                read(data, "it")
        with written("job.toml", data) as path, suppress(CccountError):
            Job.from_file(path)
