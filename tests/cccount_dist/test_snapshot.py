"""What a snapshot can hold comes back as it was; what it cannot hold is named; and none, however made, runs foreign code."""

import functools
import json
import random
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from cccount_dist.clustering.apc.stages import Due
from cccount_dist.counting.placing.state import TURN
from cccount_dist.sampling.freezing import freeze
from cccount_dist.sampling.frozen import Frozen, UnfrozenError
from cccount_dist.sampling.packing import Lying, Packing, blob_name, unpacked
from cccount_dist.sampling.replay import replay
from cccount_dist.sampling.thawing import thaw
from cccount_dist.sampling.types import Answer, Question
from storage.errors import CorruptionError
from tests.cccount_dist.every_sampler import Variant, collections, every_sampler

ROOMS = (__name__,)


class Held:
    """Anything."""

    def __init__(self, **things: Any) -> None:
        self.__dict__.update(things)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__[name] = value

    def twice(self, number: int) -> int:
        return 2 * number


def back(thing: Any, given: dict[str, object] | None = None) -> Any:
    """The thing as it comes back from a disk."""
    frozen = freeze(thing, given, ROOMS)
    packing = Packing(frozen)
    blobs = {name: bytes(data) for name, data in packing.blobs()}
    return thaw(unpacked(packing.names, packing.sums, blobs.__getitem__), given, ROOMS)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = PLAIN | st.builds(Answer, st.integers(), st.integers(0, 9), st.integers(0, 9), st.none() | st.floats(0, 1))
THINGS = st.recursive(
    VALUES | st.tuples(st.integers(), st.text(), st.none() | st.floats(allow_nan=False)),
    lambda inside: (
        st.lists(inside, max_size=40) | st.dictionaries(PLAIN, inside, max_size=40) | st.lists(inside, max_size=5).map(tuple)
    ),
    max_leaves=60,
)


@settings(deadline=None, max_examples=60)
@given(st.lists(VALUES, min_size=16, max_size=40) | THINGS)
def test_plain_things_come_back(thing: Any) -> None:
    found = back(thing)
    assert (found, repr(found)) == (thing, repr(thing))


def test_containers_and_numbers_come_back() -> None:
    chance, generator, old = random.Random(3), np.random.default_rng(4), np.random.RandomState(5)
    chance.gauss(0, 1)
    factory: defaultdict[str, list[int]] = defaultdict(list, a=[1])
    held = Held(
        things=[deque([1, 2], 5), Counter("aab"), OrderedDict(b=1, a=2), {3, 1}, frozenset({(1, 2)}), range(2, 9, 3), b"\0\1"],
        factory=factory, chance=chance, generator=generator, old=old, number=np.float32(0.1), turn=TURN, slice=slice(1, None),
        structured=np.array([(1, 2.0)], [("a", "<i4"), ("b", "<f8")]), due=[Due(i, i, 0.5) for i in range(20)],
    )  # fmt: skip
    held.again, held.method, held.part = held, held.twice, functools.partial(Question, 1, v=3)
    found = back(held)
    assert repr(found.things) == repr(held.things)
    assert found.factory["new"] == []
    assert found.again is found
    assert found.method(4) == 8
    assert found.method.__self__ is found
    assert found.part(2) == Question(1, 2, 3)
    assert found.turn is TURN
    assert found.due == held.due
    assert found.structured.tolist() == [(1, 2.0)]
    assert (type(found.number), found.number) == (np.float32, np.float32(0.1))
    assert (found.chance.gauss(0, 1), found.generator.random(), found.old.rand()) == (
        chance.gauss(0, 1), generator.random(), old.rand(),
    )  # fmt: skip


def test_arrays_keep_their_order_their_rights_and_what_they_share() -> None:
    whole = np.arange(600_000.0).reshape(3, -1)
    fixed = np.arange(5)
    fixed.flags.writeable = False
    held = Held(
        whole=whole, part=whole[1:, ::2], turned=np.asfortranarray(whole), fixed=fixed, none=np.empty((0, 4)), one=np.array(3)
    )
    found = back(held)
    for name, array in held.__dict__.items():
        other = found.__dict__[name]
        np.testing.assert_array_equal(other, array)
        assert (other.dtype, other.strides, other.flags.writeable) == (array.dtype, array.strides, array.flags.writeable)
    found.whole[1, 0] = -1.0
    assert found.part[0, 0] == -1.0


def test_what_was_given_is_named_and_not_copied() -> None:
    vectors = np.random.default_rng(0).random((100, 8))
    held = Held(vectors=vectors, same=np.asarray(vectors[:]), rows=vectors[:3].copy())
    assert sum(array.nbytes for array in freeze(held, {"vectors": vectors}, ROOMS).arrays) == held.rows.nbytes
    found = back(held, {"vectors": vectors})
    assert found.vectors is vectors
    assert found.same is vectors


@pytest.mark.parametrize(("thing", "said"), [
    (Held(deep=[Held(work=(n for n in (1, 2)))]), r"sampler\.deep\[0\]\.work is builtins\.generator"),
    (Held(call=lambda: 1), r"sampler\.call is builtins\.function"),
    (Held(call=print), r"sampler\.call is builtins\.builtin_function"),
    (Held(array=np.array([{}], object)), r"sampler\.array is an array of ndarray object"),
    (Held(made=defaultdict(lambda: 1)), r"sampler\.made makes its values"),
    (json.JSONDecoder(), r"sampler is json\.decoder\.JSONDecoder"),
])  # fmt: skip
def test_what_cannot_be_kept_is_named(thing: object, said: str) -> None:
    with pytest.raises(UnfrozenError, match=said):
        freeze(thing, rooms=ROOMS)


@pytest.mark.parametrize("graph", [
    ["object", "os:_wrap_close", {}, []],
    ["object", "builtins:list", {}, []],
    ["object", "cccount_dist.sampling.thawing:os.system", {}, []],
    ["object", "cccount_dist.sampling.thawing:importlib.import_module", {}, []],
    ["object", "cccount_dist.sampling.types:SAME", {}, []],
    ["object", "cccount_dist.kinds.count.kind:CountKind", {}, []],
    ["object", "cccount_dist..os:system", {}, []],
    ["object", "storage.objects:LocalObjects", {"root": "/"}, []],
    ["name", "os:system"],
    ["name", "cccount_dist.sampling.thawing:sys.exit"],
    ["partial", ["name", "os:system"], ["tuple", ["true"]], ["dict", [], []]],
    ["partial", ["bytes", ""], ["tuple", []], ["dict", [], []]],
    ["method", ["list", []], "clear"],
    ["method", ["object", "cccount_dist.sampling.constraints:Constraints", {}, []], "__class__"],
    ["enum", "cccount_dist.sampling.constraints:Constraints", "x"],
    ["defaultdict", [], [], "eval"],
    ["scalar", "|O", "00"],
    ["array", 0, [1], "C", "|O", True],
    ["array", 7, [1], "C", "<f8", True],
    ["array", 0, [5], "C", "<f8", True],
    ["part", ["array", 0, [1], "C", "<f8", True], 4096, [9], [8], "<f8", True],
    ["generator", {"bit_generator": "__import__"}],
    ["sparse", "linalg", [1, 1], None, None, None],
    ["=", 0], ["=", -1], ["given", "nothing"], ["__init__"], ["_rooms"], [], {}, ["list", {"column": ["eval", 1]}],
    ["list", {"column": ["object", "os:_wrap_close", ["a"], ["none", 1]]}],
])  # fmt: skip
def test_nothing_is_run_from_a_hostile_snapshot(graph: Any) -> None:
    with pytest.raises(CorruptionError):
        thaw(Frozen(graph, [np.zeros(1)]))


def test_a_blob_that_is_not_what_its_name_says_is_refused() -> None:
    packing = Packing(Frozen([1], [np.arange(3), np.arange(100_000)]))
    blobs = {name: bytes(data) for name, data in packing.blobs()}
    assert len(blobs) == 3
    for name in packing.names:
        other = {**blobs, name: blobs[name][:-1] + b"\7"}
        with pytest.raises(CorruptionError):
            unpacked(packing.names, packing.sums, other.__getitem__)
        with pytest.raises(CorruptionError):
            unpacked(packing.names, packing.sums, other.__getitem__, into=reading(other))
    shorter = {name: data[:-8] for name, data in blobs.items()}
    with pytest.raises(CorruptionError):
        unpacked(packing.names, packing.sums, blobs.__getitem__, into=reading(shorter))


def reading(blobs: dict[str, bytes]) -> Callable[[str, memoryview], int]:
    """Reads blobs to where they are wanted, as a folder does."""

    def into(name: str, room: memoryview) -> int:
        data = blobs[name][: len(room)]
        room[: len(data)] = data
        return len(data)

    return into


def test_a_large_array_keeps_its_name_until_it_is_changed() -> None:
    first = Packing(Frozen([1], [np.arange(3_000_000)]))
    blobs = {name: bytes(data) for name, data in first.blobs()}
    lying = Lying()
    (array,) = unpacked(first.names, first.sums, blobs.__getitem__, lying).arrays
    assert [name for name, _ in lying.blobs(array)] == first.names[:-1]
    assert np.array_equal(unpacked(first.names, first.sums, blobs.__getitem__, into=reading(blobs)).arrays[0], array)
    again = Packing(Frozen([1], [array]), lying)
    assert dict(again.blobs()).keys() == blobs.keys()
    array[2_999_999] = -1
    changed = Packing(Frozen([1], [array]), lying)
    fresh = {name: bytes(data) for name, data in changed.blobs()}
    assert [a == b for a, b in zip(changed.names, first.names, strict=True)] == [True, True, False, True]
    assert all(blob_name(data) == name for name, data in fresh.items())
    place = array.copy()
    del array
    assert lying.blobs(place) == []


@pytest.mark.parametrize("variant", [pytest.param(one, id=one.name) for one in every_sampler()])
def test_every_sampler_can_be_kept(variant: Variant) -> None:
    from cccount_dist.testing.case import record

    collection = collections()[0]
    case = variant.case(collection)
    with threadpool_limits(1):
        rounds, answers = record(case).log()
        sampler = case.make()
        replay(sampler, rounds, answers)
        sampler.result()
        frozen = freeze(sampler, {"vectors": collection.vectors})
    assert len(json.dumps(frozen.graph)) < 1_000_000
