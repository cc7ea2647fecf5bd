"""The picture itself as a vector: 32 x 32 pixels, grey, in [-1, 1]. Needs no weights; enough for digits and aligned crops."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.images import resized

SIDE = 32
# ITU-R BT.601 luma, in 1/65536 as Pillow has it: integers, so that grey does not depend on the order of a float sum
LUMA = np.array([19595, 38470, 7471], np.uint32)


def grey(images: Sequence[NDArray[np.uint8]], side: int) -> NDArray[np.float32]:
    """Return (n, side, side) in 0..255."""
    weighted = resized(images, side).astype(np.uint32) @ LUMA
    return ((weighted + 0x8000) >> 16).astype(np.float32)


class Pixels:
    """Grey pixels."""

    name = "pixels"
    revision = f"1-{SIDE}px"
    dimensions = SIDE * SIDE
    side = SIDE
    batch = 64

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        flat = grey(images, SIDE).reshape(len(images), -1)
        return (flat / np.float32(127.5) - 1).astype(np.float32)


__all__ = ["Pixels", "grey"]
