"""The collection table: items, ids, labels, and what is wrong with a bad one."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.collection import Collection, collection_problems, collection_table, read_collection, write_collection
from storage.errors import CorruptionError, InputError, WorkspaceError
from storage.objects import LocalObjects
from tests.storage.faults import cut, flip


@pytest.fixture
def objects(tmp_path: Path) -> LocalObjects:
    return LocalObjects(tmp_path)


names = st.lists(st.text(min_size=1, max_size=8).filter(str.isprintable), min_size=1, max_size=30, unique=True)


@settings(max_examples=25, deadline=None)
@given(ids=names, data=st.data())
def test_any_collection_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], data: st.DataObject
) -> None:
    labels = data.draw(st.lists(st.one_of(st.none(), st.sampled_from("abc")), min_size=len(ids), max_size=len(ids)))
    table = collection_table(ids, label=labels, uri=[f"file:///{name}" for name in ids])
    objects = LocalObjects(tmp_path_factory.mktemp("ws"))
    write_collection(objects, table)
    found = read_collection(objects)
    assert found.table.equals(table)
    assert found.ids == ids
    assert len(found) == found.items == len(ids)
    assert found.uri(0) == f"file:///{ids[0]}"


def test_labels_are_numbered_in_sorted_order_and_an_item_without_one_has_minus_one() -> None:
    found = Collection(collection_table(["1", "2", "3", "4"], label=["owl", None, "cat", "owl"])).labels()
    assert found is not None
    assert found.dtype == np.int64
    assert found.tolist() == [1, -1, 0, 1]


def test_a_collection_without_labels_has_none() -> None:
    assert Collection(collection_table(["1", "2"])).labels() is None


def test_the_numbers_of_labels_do_not_depend_on_how_the_table_is_cut() -> None:
    table = collection_table([str(i) for i in range(10)], label=list("bacbacbacb"))
    pieces = pa.concat_tables([table.slice(0, 3), table.slice(3)])
    whole, cut_up = Collection(table).labels(), Collection(pieces).labels()
    assert whole is not None
    assert cut_up is not None
    assert whole.tolist() == cut_up.tolist()


def test_problems_replace_those_that_were_there() -> None:
    first = Collection(collection_table(["a", "b", "c"])).with_problems({1: "unreadable"})
    assert first.problems() == {1: "unreadable"}
    assert first.with_problems({0: "empty"}).problems() == {0: "empty"}
    with pytest.raises(InputError, match="there is no item 3: the collection has the items 0 to 2"):
        first.with_problems({3: "lost"})


@pytest.mark.parametrize("item", [-1, 2])
def test_the_uri_of_an_item_that_does_not_exist_is_refused(item: int) -> None:
    with pytest.raises(InputError, match=f"there is no item {item}"):
        Collection(collection_table(["a", "b"])).uri(item)


def test_an_id_used_twice_is_named_with_both_rows() -> None:
    with pytest.raises(InputError, match="the id 'owl' is used twice, in rows 1 and 3"):
        Collection(collection_table(["a", "owl", "b", "owl"]))


def test_an_empty_id_is_named_with_its_row() -> None:
    with pytest.raises(InputError, match="row 1 has an empty id"):
        Collection(collection_table(["a", ""]))


def test_a_collection_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="has no items"):
        Collection(collection_table([]))


def test_items_that_are_not_row_numbers_are_refused() -> None:
    table = collection_table(["a", "b"]).take([1, 0])
    with pytest.raises(InputError, match="row 0 has the item number 1"):
        Collection(table)


def test_columns_of_the_wrong_length_name_or_type_are_refused() -> None:
    with pytest.raises(InputError, match="1 values of 'label' for 2 items"):
        collection_table(["a", "b"], label=["x"])
    with pytest.raises(InputError, match="no column 'colour'"):
        collection_table(["a"], colour=["red"])
    with pytest.raises(InputError, match="no column 'item' to give"):
        collection_table(["a"], item=[1])
    with pytest.raises(InputError, match="cannot be put in a table"):
        collection_table(["a"], width=["wide"])


def test_a_missing_file_is_named_with_its_repair(objects: LocalObjects) -> None:
    with pytest.raises(WorkspaceError, match=r"collection\.parquet is missing: restore it from a copy"):
        read_collection(objects)


def test_every_flipped_byte_is_noticed(objects: LocalObjects) -> None:
    write_collection(objects, collection_table([f"item-{i}" for i in range(50)], label=["owl", "cat"] * 25))
    path = objects.path("collection.parquet")
    whole = path.read_bytes()
    original = read_collection(objects).table
    noticed = 0
    for place in range(0, len(whole), 41):
        flip(path, place)
        problems = list(collection_problems(objects))
        # A byte that carries nothing (a statistic, a padding) may change, a value may not.
        assert problems or read_collection(objects).table.equals(original)
        noticed += len(problems)
        path.write_bytes(whole)
    assert noticed > 10


@pytest.mark.parametrize("size", [0, 3, 400])
def test_a_cut_file_is_named_with_its_repair(objects: LocalObjects, size: int) -> None:
    write_collection(objects, collection_table([f"item-{i}" for i in range(50)]))
    cut(objects.path("collection.parquet"), size)
    with pytest.raises(CorruptionError, match=r"collection\.parquet: damaged .*; restore the file from a copy") as caught:
        read_collection(objects)
    assert "\n" not in str(caught.value)
    (problem,) = collection_problems(objects)
    assert problem.path == f"{objects.location}/collection.parquet"


def test_a_sound_file_has_no_problems(objects: LocalObjects) -> None:
    write_collection(objects, collection_table(["a"]))
    assert list(collection_problems(objects)) == []
