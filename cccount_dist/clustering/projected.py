"""What grouping samplers take, in bytes beyond the process and the mapped vectors: upper limits, tested against measured ones."""

from typing import Any

from cccount_dist.clustering.hacc.parameters import HaccParameters
from cccount_dist.clustering.spectral.parameters import MOST_S_AND_T
from cccount_dist.room import Size

_LEAST = 32 * 2**20  # scratch of kernels and of the interpreter that does not grow
# Of an item in `evidence/reciprocal.py` and `micro.py`, with some fifty similar ones as in tight groups, beside its neighbours.
# Items without clear groups have ten times as many: what those take is asked for in `micro.py`, when it is known how many.
_LISTS, _NEIGHBOR = 2_500, 8
_MICROS, _OF_MICRO = 2_500, 40  # micro-clusters at least (`evidence/micro.py`), and bytes for each number of one
_BLOCK = 3 * 8 * 8_192  # rows that are moved at a time, in float64 (`evidence/space.py`)
_FEW = 160 * 2**20  # of `catalogue` in some thousand items (171 MB at 8,000 items of 32 dimensions; 55 MB at 30,000)
_PLAIN, _ROW = 128, 3_000  # of `catalogue`: dimensions of its space; lists, candidates and votes of an item, twice
_EXACT, _CONDENSED = 5_000, 2_000  # units of hacc: `hacc/units.py` and `hacc/build.py` have them, and are heavy to import
_DENSE = 5_000  # items up to which a spectrum may be dense (`spectral/spectrum.py`)


def blocks(size: Size, _: Any) -> int:
    """evidence and apc: similarity lists of every item, sums of the vectors of micro-clusters, which are added up and compared,
    and a block of vectors. The vectors themselves stay on disk, those of a learned space too."""
    micros = max(_MICROS, size.items // 10)
    return _LEAST + size.items * (_LISTS + _NEIGHBOR * size.neighbors) + (_OF_MICRO * micros + _BLOCK) * size.dimensions


def catalogue(size: Size, _: Any) -> int:
    """The given vectors while they are made shorter; the space and its whitened copy; neighbours, candidates and votes of every
    item, twice while somebody looks."""
    return _LEAST + _FEW + size.items * (_ROW + 24 * min(size.dimensions, _PLAIN) + 12 * max(0, size.dimensions - _PLAIN))


def hacc(size: Size, given: HaccParameters) -> int:
    """Pairs of units, 54 bytes each with what is simulated; labels of all runs; lists of all items while they are condensed, and
    sums of the vectors of units. The vectors themselves stay on disk."""
    exact = given.units == 0 and size.items <= _EXACT
    units = size.items if exact else min(size.items, max(given.units or _CONDENSED, size.clusters or 1))
    condensing = 0 if exact else size.items * (40 * size.neighbors + 64) + 64 * 2**20 + 24 * units * size.dimensions
    return _LEAST + 54 * units**2 + 2 * given.runs * units + condensing


def ratings(size: Size, _: Any) -> int:
    """A square matrix and its spectrum while there are few items; beyond, some vectors for each group."""
    few = min(size.items, _DENSE)
    return _LEAST + 24 * few**2 + size.items * (512 + 64 * (size.clusters or 2))


def s_and_t(size: Size, given: Any) -> int:
    """Square matrices, and never more items than the method takes."""
    return ratings(size, given) + 32 * min(size.items, MOST_S_AND_T) ** 2
