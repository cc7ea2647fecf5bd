"""Run an ONNX model on batches of pictures: the user's own (`onnx:PATH`), or one that cccount has built.

Pictures are squeezed to the model's input size and scaled as ImageNet models expect (mean and deviation of each channel, in
0..1) unless the model says otherwise. One thread: a Dask worker is one core. The session is made at first use.
"""

import hashlib
import types
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.images import resized
from storage.errors import InputError

DEFAULT_SIDE = 224


@dataclass(frozen=True, slots=True)
class Scaling:
    """(pixel / 255 - mean) / deviation, for each channel."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]

    def apply(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return (n, 3, side, side) for (n, side, side, 3)."""
        factor = (1 / (255 * np.asarray(self.deviation))).astype(np.float32)
        shift = (-np.asarray(self.mean) / np.asarray(self.deviation)).astype(np.float32)
        out = np.empty((len(pictures), 3, *pictures.shape[1:3]), np.float32)
        for channel in range(3):
            np.multiply(pictures[..., channel], factor[channel], out=out[:, channel], dtype=np.float32)
            out[:, channel] += shift[channel]
        return out


IMAGENET = Scaling((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def require_onnxruntime() -> types.ModuleType:
    """Return onnxruntime, or say how to get it."""
    try:
        import onnxruntime
    except ImportError as error:
        raise InputError("this encoder needs onnxruntime: pip install onnxruntime") from error
    return onnxruntime  # type: ignore[no-any-return]


class OnnxEncoder:
    """A model with one picture input, (n, 3, h, w) float32, whose first output is flattened to one vector for each picture."""

    batch = 8  # larger batches were not faster on one core, and 32 take 300 MiB more

    def __init__(self, name: str, model: bytes, *, revision: str, side: int | None = None, scaling: Scaling = IMAGENET) -> None:
        runtime = require_onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            self._session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except _failures(runtime) as error:
            raise InputError(f"{name}: onnxruntime cannot load it: {_line(error)}") from error
        self.name = name
        self._scaling = scaling
        given = self._session.get_inputs()
        if len(given) != 1 or len(given[0].shape) != 4 or given[0].type != "tensor(float)":
            found = ", ".join(f"{part.name} {part.type} {part.shape}" for part in given)
            raise InputError(f"{name}: a model needs one input of float pictures (n, 3, h, w); this one has {found}")
        self._input = given[0].name
        self.side = side or _fixed_side(name, given[0].shape)
        try:
            self.dimensions = int(self._run(np.zeros((1, 3, self.side, self.side), np.float32)).shape[1])
        except _failures(runtime) as error:
            raise InputError(f"{name}: onnxruntime cannot run it on {self.side} x {self.side}: {_line(error)}") from error
        self.revision = f"{revision}-{self.side}px"

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        return self._run(self._scaling.apply(resized(images, self.side)))

    def _run(self, batch: NDArray[np.float32]) -> NDArray[np.float32]:
        out: Any = self._session.run(None, {self._input: batch})[0]
        return np.ascontiguousarray(out, np.float32).reshape(len(batch), -1)


def open_onnx(path: str) -> OnnxEncoder:
    """Return the encoder `onnx:PATH`."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"onnx:{path}: there is no such file; on a cluster every worker must see it under the same path")
    model = file.read_bytes()
    return OnnxEncoder(f"onnx:{path}", model, revision=digest(model))


def digest(data: bytes) -> str:
    """Return eight hexadecimal digits for some bytes."""
    return hashlib.blake2b(data, digest_size=4).hexdigest()


def _fixed_side(name: str, shape: Sequence[object]) -> int:
    channels, height, width = shape[1:]
    if channels not in (3, None) and not isinstance(channels, str):
        raise InputError(f"{name}: the model's input has {channels} channels, and pictures have 3 (n, 3, h, w)")
    if isinstance(height, int) and height != width:
        raise InputError(f"{name}: the model's input is {height} x {width}, and must be square")
    return height if isinstance(height, int) else DEFAULT_SIDE


def _failures(runtime: types.ModuleType) -> tuple[type[Exception], ...]:
    """What onnxruntime raises: classes of its own without a common parent."""
    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoModel", "NotImplemented", "RuntimeException")
    return (RuntimeError, ValueError, *(getattr(runtime.capi.onnxruntime_pybind11_state, name) for name in names))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


__all__ = ["IMAGENET", "OnnxEncoder", "Scaling", "digest", "open_onnx", "require_onnxruntime"]
