"""Histograms of oriented gradients (Dalal and Triggs 2005): cells of gradient directions, blocks of 2 x 2 cells, L2-Hys norm.

Plain numpy over whole batches, no weights. Good for shapes (characters, signs, outlines), blind to colour.
O(side^2) time for an image; a batch of b images takes about 50 b side^2 bytes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cccount_dist.embedding.encoders.pixels import grey

SIDE = 48
CELL = 8
BINS = 9
_CELLS = SIDE // CELL
_CLIP = np.float32(0.2)
# A flat block has only noise for a direction, and must not be blown up to unit length: one grey level of noise in every pixel
# of a block is about 50, squared here, and a block that is half as strong as a clear one keeps some of that.
_NOISE = np.float32(2500)
_FAINT = np.float32(0.25)


class Hog:
    """HOG of the grey picture."""

    name = "hog"
    revision = f"1-{SIDE}px-{CELL}c{BINS}b"
    dimensions = (_CELLS - 1) ** 2 * 4 * BINS
    side = SIDE
    batch = 64

    def encode(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        cells = cell_histograms(grey(images, SIDE))
        return block_norm(cells).reshape(len(images), self.dimensions)


def cell_histograms(pictures: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (n, cells, cells, BINS): gradient magnitude by direction, each pixel shared between its two nearest bins."""
    n = len(pictures)
    across, down = np.zeros_like(pictures), np.zeros_like(pictures)
    across[:, :, 1:-1] = pictures[:, :, 2:] - pictures[:, :, :-2]
    down[:, 1:-1] = pictures[:, 2:] - pictures[:, :-2]
    magnitude = np.hypot(across, down)
    # Unsigned direction in bins; the centre of bin b is at b + 0.5.
    position = np.mod(np.arctan2(down, across), np.float32(np.pi)) * np.float32(BINS / np.pi) - np.float32(0.5)
    lower = np.floor(position)
    to_upper = magnitude * (position - lower)
    to_lower = magnitude - to_upper
    lower_bin = lower.astype(np.int8) % BINS
    upper_bin = (lower_bin + 1) % BINS
    out = np.empty((n, _CELLS, _CELLS, BINS), np.float32)
    for b in range(BINS):
        share = np.where(lower_bin == b, to_lower, 0) + np.where(upper_bin == b, to_upper, 0)
        out[..., b] = share.reshape(n, _CELLS, CELL, _CELLS, CELL).sum(axis=(2, 4))
    return out


def block_norm(cells: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return (n, blocks, blocks, 4 BINS): each 2 x 2 block of cells to about unit length, clipped at 0.2, and once more."""
    parts = (cells[:, :-1, :-1], cells[:, 1:, :-1], cells[:, :-1, 1:], cells[:, 1:, 1:])
    blocks = np.concatenate(parts, axis=-1)
    blocks /= np.sqrt((blocks**2).sum(-1, keepdims=True) + _NOISE)
    np.minimum(blocks, _CLIP, out=blocks)
    blocks /= np.sqrt((blocks**2).sum(-1, keepdims=True) + _FAINT)
    return blocks


__all__ = ["Hog"]
