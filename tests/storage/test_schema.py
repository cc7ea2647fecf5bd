"""Declared arrays and tables: what is checked at the border."""

import numpy as np
import pyarrow as pa
import pytest

from storage.errors import CorruptionError, InputError
from storage.schema import ANSWERS, ARRAYS, COLLECTION, DEGREE, EMBEDDINGS, ESTIMATES, QUESTIONS, SIMILARITY, Column, TableSpec

TABLES = (COLLECTION, QUESTIONS, ANSWERS, ESTIMATES)


def test_every_declared_thing_says_what_it_means() -> None:
    assert all(spec.meaning and spec.made_by.startswith("`cccount ") for spec in ARRAYS)
    assert all(column.meaning for table in TABLES for column in table.columns)
    assert len({spec.name for spec in ARRAYS}) == len(ARRAYS)


def test_no_fill_value_can_be_mistaken_for_data() -> None:
    assert all(np.isnan(spec.fill) if np.dtype(spec.dtype).kind == "f" else spec.fill == -1 for spec in ARRAYS)


def test_the_first_axis_of_every_array_is_the_item() -> None:
    assert {spec.dims[0] for spec in ARRAYS if spec is not SIMILARITY} == {"item"}


def test_values_of_another_type_or_shape_are_refused() -> None:
    EMBEDDINGS.check(np.zeros((2, 3), np.float32), (2, 3))
    with pytest.raises(InputError, match=r"embeddings\.zarr holds float32, not float64"):
        EMBEDDINGS.check(np.zeros((2, 3)), (2, 3))
    with pytest.raises(InputError, match=r"neighbors\.zarr/degree expects the shape \(2,\) here, not \(3,\)"):
        DEGREE.check(np.zeros(3), (2,))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.name))
def test_an_empty_table_of_every_kind_passes_its_own_check(table: TableSpec) -> None:
    assert table.check(table.empty(), "here").schema == table.schema


SPEC = TableSpec("birds", (Column("item", pa.int64(), "number"), Column("name", pa.string(), "word", required=False)))


def test_check_returns_the_declared_columns_in_their_order() -> None:
    given = pa.table({"extra": [1.0], "name": pa.array([None], pa.string()), "item": [4]})
    assert SPEC.check(given, "here").column_names == ["item", "name"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"item": [1]}), "here: the column 'name' of the birds table is missing"),
        (pa.table({"item": ["1"], "name": ["a"]}), "here: column 'item' is string, and should be int64"),
        (pa.table({"item": pa.array([None], pa.int64()), "name": ["a"]}), "here: column 'item' has empty values"),
    ],
)
def test_a_missing_mistyped_or_empty_column_is_named(table: pa.Table, message: str) -> None:
    with pytest.raises(CorruptionError, match=message):
        SPEC.check(table, "here")
