"""Encoders by name. `open_encoder` loads a model once in a process, so that the tasks of one Dask worker share it."""

from collections.abc import Callable
from functools import lru_cache

from cccount_dist.embedding.encoders.hog import Hog
from cccount_dist.embedding.encoders.pixels import Pixels
from cccount_dist.embedding.encoders.protocol import Encoder
from storage.errors import InputError

DEFAULT_ENCODER = "hog"

_BUNDLED: dict[str, Callable[[], Encoder]] = {
    "hog": Hog,
    "pixels": Pixels,
}


@lru_cache(maxsize=2)
def open_encoder(name: str) -> Encoder:
    """Return the encoder with this name; `InputError` if there is none or what it needs is not installed.

    >>> open_encoder("hog").dimensions
    900
    """
    if name in _BUNDLED:
        return _BUNDLED[name]()
    raise InputError(f"there is no encoder {name!r}: choose {', '.join(sorted(_BUNDLED))}")


__all__ = ["DEFAULT_ENCODER", "Encoder", "open_encoder"]
