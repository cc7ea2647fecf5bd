"""What every encoder is: images in, float32 vectors out, with a name and a revision that are stored beside the vectors."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Encoder(Protocol):
    """Images to vectors. The same revision gives the same vectors, whatever the batch that an image comes in."""

    @property
    def name(self) -> str:
        """What the user typed."""

    @property
    def revision(self) -> str:
        """Changes whenever the vectors would: weights, input size, preprocessing."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    @property
    def side(self) -> int:
        """Images are squeezed to side x side pixels; readers may hand them over in that size already."""

    @property
    def batch(self) -> int:
        """How many images it is fastest with at once, without taking much memory."""

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Return (n, dimensions) for n images of any size, each (h, w, 3) uint8."""


__all__ = ["Encoder"]
