"""The reader of torch checkpoints: tensors come out, and nothing that a hostile file wants to run is run."""

import io
import os
import pickle
import struct
import sys
import types
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cccount_dist.embedding.encoders.checkpoint import read_checkpoint
from storage.errors import InputError


class FloatStorage:
    """Stands for torch.FloatStorage while a checkpoint is written."""


FloatStorage.__module__ = "torch"


def _rebuild_tensor_v2(*_: object) -> None:
    """Stands for torch._utils._rebuild_tensor_v2."""


_rebuild_tensor_v2.__module__ = "torch._utils"


class Tensor:
    """Pickles as torch pickles a tensor: a call that names its storage, offset, shape and strides."""

    def __init__(self, key: str, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.parts = (key, offset, shape, strides)

    def __reduce__(self) -> tuple[Any, ...]:
        key, offset, shape, strides = self.parts
        return _rebuild_tensor_v2, (Stored(key), offset, shape, strides, False, OrderedDict())


class Stored:
    def __init__(self, key: str) -> None:
        self.key = key


class Writer(pickle.Pickler):
    def persistent_id(self, obj: object) -> object:
        return ("storage", FloatStorage, obj.key, "cpu", 0) if isinstance(obj, Stored) else None


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that a pickler needs in order to write what torch would write."""
    top, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")
    vars(top)["FloatStorage"] = FloatStorage
    vars(utils)["_rebuild_tensor_v2"] = _rebuild_tensor_v2
    monkeypatch.setitem(sys.modules, "torch", top)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)


def pickled(content: object) -> bytes:
    sink = io.BytesIO()
    Writer(sink, protocol=2).dump(content)
    return sink.getvalue()


def zipped(path: Path, content: object, storages: dict[str, NDArray[np.float32]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickled(content))
        for key, numbers in storages.items():
            archive.writestr(f"model/data/{key}", numbers.tobytes())
    return path


def legacy(path: Path, content: object, storages: dict[str, NDArray[np.float32]]) -> Path:
    parts = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})]
    parts += [pickled(content), pickle.dumps(sorted(storages), 2)]
    for _, numbers in sorted(storages.items()):
        parts += [struct.pack("<q", len(numbers)), numbers.tobytes()]
    path.write_bytes(b"".join(parts))
    return path


NUMBERS = {"0": np.arange(12, dtype=np.float32), "1": np.array([7.0], np.float32)}
CONTENT = OrderedDict(
    whole=Tensor("0", 0, (3, 4), (4, 1)), turned=Tensor("0", 0, (4, 3), (1, 4)), part=Tensor("0", 5, (2,), (2,)),
    scalar=Tensor("1", 0, (), ()), empty=Tensor("0", 0, (0, 4), (4, 1)),
)  # fmt: skip


@pytest.mark.parametrize("layout", [zipped, legacy])
def test_tensors_come_out_of_both_layouts(tmp_path: Path, layout: Callable[..., Path]) -> None:
    found = read_checkpoint(layout(tmp_path / "w.pth", CONTENT, NUMBERS))
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = {"whole": whole, "turned": whole.T, "part": np.array([5, 7]), "scalar": np.array(7), "empty": np.empty((0, 4))}
    assert list(found) == list(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


class Trap:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.target),)


@pytest.mark.parametrize("layout", [zipped, legacy])
def test_a_hostile_checkpoint_runs_nothing(tmp_path: Path, layout: Callable[..., Path]) -> None:
    path = layout(tmp_path / "w.pth", OrderedDict(weights=Trap(tmp_path / "owned")), NUMBERS)
    with pytest.raises(InputError, match=r"wants to use posix\.mkdir"):
        read_checkpoint(path)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("tensor", [Tensor("0", 8, (3, 4), (4, 1)), Tensor("0", -4, (2,), (1,)), Tensor("0", 4, (2,), (-4,))])
def test_a_tensor_cannot_reach_outside_its_storage(tmp_path: Path, tensor: Tensor) -> None:
    with pytest.raises(InputError, match="reaches to"):
        read_checkpoint(zipped(tmp_path / "w.pth", OrderedDict(t=tensor), NUMBERS))


def test_what_is_no_checkpoint_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.pth").write_text("hello")
    with zipfile.ZipFile(tmp_path / "zip.pth", "w") as archive:
        archive.writestr("other", "hello")
    zipped(tmp_path / "number.pth", {"epoch": 3}, NUMBERS)
    whole = legacy(tmp_path / "whole.pth", CONTENT, NUMBERS).read_bytes()
    (tmp_path / "half.pth").write_bytes(whole[:-30])
    for name in ("text", "zip", "number", "half"):
        with pytest.raises(InputError, match="not a checkpoint of plain tensors") as caught:
            read_checkpoint(tmp_path / f"{name}.pth")
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("layout", [zipped, legacy])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)
@given(edits=st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 6), st.binary(max_size=6)), min_size=1, max_size=4))
def test_any_damage_is_explained(tmp_path: Path, layout: Callable[..., Path], edits: list[tuple[float, int, bytes]]) -> None:
    path = layout(tmp_path / "w.pth", CONTENT, NUMBERS)
    data = path.read_bytes()
    for at, taken, put in edits:
        place = int(at * len(data))
        data = data[:place] + put + data[place + taken :]
    path.write_bytes(data)
    with suppress(InputError):
        read_checkpoint(path)


def test_nobody_waits_for_a_pipe_that_is_given_as_a_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.pth")
    with pytest.raises(InputError, match="not a file"):
        read_checkpoint(tmp_path / "w.pth")
