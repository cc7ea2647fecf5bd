"""Encoders by name. `open_encoder` loads a model once in a process, so that the tasks of one Dask worker share it."""

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec

from cccount_dist.embedding.encoders import composite, efficientnet
from cccount_dist.embedding.encoders.hog import Hog
from cccount_dist.embedding.encoders.onnx import open_onnx
from cccount_dist.embedding.encoders.pixels import Pixels
from cccount_dist.embedding.encoders.protocol import Encoder
from cccount_dist.embedding.encoders.torch_models import EXTRAS, open_torch
from storage.errors import CccountError, InputError

DEFAULT_ENCODER = composite.NAME
NEEDS_MAP = frozenset({composite.NAME})  # encoders whose vectors are of no use without a map of the collection

_BUNDLED: dict[str, Callable[[], Encoder]] = {
    composite.NAME: composite.Composite,
    efficientnet.NAME: efficientnet.open_efficientnet,
    "hog": Hog,
    "pixels": Pixels,
}

# Milliseconds of one core for an image, and the share of right 5-NN votes among chimpanzee faces, traffic signs and drawn
# characters, by `benchmarks/encoder_accuracy.py`, to choose by.
_MEASURED = {
    composite.NAME: "8 ms an image; its neighbours name 83 % of faces, 63 % of signs, 79 % of characters rightly, with its map",
    efficientnet.NAME: "7.5 ms an image; 72 % of faces, 52 % of signs, 56 % of characters (78 %, 56 %, 65 % with --map auto)",
    "hog": "0.2 ms an image; 56 % of faces, 68 % of signs, 62 % of characters (61 %, 77 %, 63 % with --map auto)",
    "pixels": "0.01 ms an image; to compare with",
}


@lru_cache(maxsize=2)
def open_encoder(name: str) -> Encoder:
    """Return the encoder with this name (`auto`: the default one); `InputError` if there is none or it lacks something.

    >>> open_encoder("hog").dimensions
    900
    """
    kind, _, argument = name.partition(":")
    if name == "auto":
        return open_encoder(DEFAULT_ENCODER)
    if name in _BUNDLED:
        return _BUNDLED[name]()
    if kind == "onnx" and argument:
        return open_onnx(argument)
    if kind in EXTRAS and argument:
        return open_torch(kind, argument)
    choices = ", ".join([*_BUNDLED, "onnx:PATH", *(f"{extra}:NAME" for extra in EXTRAS)])
    raise InputError(f"there is no encoder {name!r}: choose {choices}")


def plain_part(encoder: str) -> int | None:
    """Return how many of the encoder's numbers say by plain cosine whether two pictures look alike, from the first; None: all."""
    return efficientnet.DIMENSIONS if encoder == composite.NAME else None


def available_encoders() -> list[tuple[str, bool, str]]:
    """Return name, whether it works here, and what it gives or what it lacks, for every encoder."""
    found: list[tuple[str, bool, str]] = []
    for name in _BUNDLED:
        try:
            encoder = open_encoder(name)
            found.append((name, True, f"{encoder.dimensions} dimensions, {_MEASURED[name]}; revision {encoder.revision}"))
        except CccountError as error:
            found.append((name, False, str(error)))
    there = find_spec("onnxruntime") is not None
    found.append(("onnx:PATH", there, "any model of yours" if there else "needs onnxruntime: pip install onnxruntime"))
    for extra, module in EXTRAS.items():
        there = find_spec("torch") is not None and find_spec(module) is not None
        detail = "models of that library" if there else f"needs the extra {extra!r}: pip install 'cccount[{extra}]'"
        found.append((f"{extra}:NAME", there, detail))
    return found


__all__ = ["DEFAULT_ENCODER", "NEEDS_MAP", "Encoder", "available_encoders", "open_encoder", "plain_part"]
