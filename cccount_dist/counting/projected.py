"""What counting samplers take, in bytes beyond the process and the mapped vectors: upper limits, tested against measured ones."""

from typing import Any

from cccount_dist.clustering.projected import catalogue
from cccount_dist.room import Size

_GRID = 96 * 2**20  # sizes, rates and the posteriors on them
_LEAST = 32 * 2**20  # scratch of kernels and of the interpreter that does not grow


def nested(size: Size, _: Any) -> int:
    """Weights, their sums, the order of items, and rows of similarities: a few numbers an item."""
    return _LEAST + 96 * size.items


def placing(size: Size, _: Any) -> int:
    """The order of items, marks, and neighbour lists of the second space, which are mapped: a few numbers an item."""
    return _LEAST + 128 * size.items


def sheets(size: Size, _: Any) -> int:
    """As `catalogue` has it; a result takes the grid of sizes and rates besides."""
    return catalogue(size, _) + _GRID


def pckmeans(size: Size, _: Any) -> int:
    """The vectors that have neighbours, labels, and some blocks of distances at a time (164 MB measured at 9,000 items)."""
    return 8 * _LEAST + size.items * (96 + 12 * size.dimensions)
