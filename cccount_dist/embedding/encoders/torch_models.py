"""Encoders from the torch world, as extras: `timm:NAME`, `open_clip:NAME[/PRETRAINED]`, `hf:NAME`. Imported only when named.

Weights come from the library's own hub or cache, in the safetensors form or through torch's own restricted reader, never through
a plain unpickler. Pictures are squeezed to the model's input size; mean and deviation are the model's own.
"""

import hashlib
import importlib
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.encoders.onnx import Scaling
from cccount_dist.embedding.images import resized
from storage.errors import InputError

EXTRAS = {"timm": "timm", "open_clip": "open_clip", "hf": "transformers"}  # prefix -> module


class TorchEncoder:
    """A torch module, and the call that turns a batch (n, 3, side, side) into vectors (n, d)."""

    batch = 8

    def __init__(self, name: str, module: Any, forward: Callable[[Any], Any], side: int, scaling: Scaling) -> None:
        self._torch = importlib.import_module("torch")
        self._torch.set_num_threads(1)  # a Dask worker is one core
        module.eval()
        self._forward = forward
        self._scaling = scaling
        self.name = name
        self.side = side
        self.dimensions = int(self.encode([np.zeros((side, side, 3), np.uint8)]).shape[1])
        self.revision = f"1-{_digest(module)}-{side}px"

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        batch = self._torch.from_numpy(self._scaling.apply(resized(images, self.side)))
        with self._torch.inference_mode():
            return np.asarray(self._forward(batch).float().numpy(), np.float32).reshape(len(images), -1)


def open_torch(kind: str, model: str) -> TorchEncoder:
    """Return the encoder `kind:model`; `InputError` if the extra is not installed or the model cannot be had."""
    name = f"{kind}:{model}"
    library = _library(kind, name)
    try:
        return {"timm": _timm, "open_clip": _open_clip, "hf": _hf}[kind](library, name, model)
    except (OSError, RuntimeError, ValueError, KeyError) as error:  # no such model, no network, no cached weights
        raise InputError(f"{name} cannot be loaded: {' '.join(str(error).split())}") from error


def _library(kind: str, name: str) -> types.ModuleType:
    try:
        importlib.import_module("torch")
        return importlib.import_module(EXTRAS[kind])
    except ImportError as error:
        raise InputError(f"the encoder {name} needs the extra {kind!r}: pip install 'cccount[{kind}]'") from error


def _timm(library: Any, name: str, model: str) -> TorchEncoder:
    module = library.create_model(model, pretrained=True, num_classes=0)
    wants = library.data.resolve_data_config({}, model=module)
    return TorchEncoder(name, module, module, int(wants["input_size"][-1]), Scaling(tuple(wants["mean"]), tuple(wants["std"])))


def _open_clip(library: Any, name: str, model: str) -> TorchEncoder:
    if model.startswith(("local-dir:", "hf-hub:")):  # the place names the architecture and its weights
        architecture, weights = model, None
    else:
        architecture, _, tag = model.partition("/")
        weights = tag or "openai"
    module, _, _ = library.create_model_and_transforms(architecture, pretrained=weights)
    size = module.visual.image_size
    scaling = Scaling(tuple(module.visual.image_mean), tuple(module.visual.image_std))
    return TorchEncoder(name, module, module.encode_image, int(size[0] if isinstance(size, tuple) else size), scaling)


def _hf(library: Any, name: str, model: str) -> TorchEncoder:
    module = library.AutoModel.from_pretrained(model, use_safetensors=True, trust_remote_code=False)
    wants = library.AutoImageProcessor.from_pretrained(model, trust_remote_code=False)
    size = getattr(wants, "crop_size", None) or wants.size
    side = int(size["height"] if "height" in size else size["shortest_edge"])

    def forward(batch: Any) -> Any:
        # CLIP and its relatives have a space that texts share; before transformers 5 its vectors came bare
        out = getattr(module, "get_image_features", module)(pixel_values=batch)
        if not hasattr(out, "last_hidden_state"):
            return out
        pooled = getattr(out, "pooler_output", None)
        return out.last_hidden_state[:, 0] if pooled is None else pooled

    return TorchEncoder(name, module, forward, side, Scaling(tuple(wants.image_mean), tuple(wants.image_std)))


def _digest(module: Any) -> str:
    content = hashlib.blake2b(digest_size=4)
    for key, tensor in sorted(module.state_dict().items()):
        content.update(key.encode())
        content.update(tensor.detach().cpu().contiguous().view(-1).float().numpy().tobytes())
    return content.hexdigest()


__all__ = ["EXTRAS", "TorchEncoder", "open_torch"]
