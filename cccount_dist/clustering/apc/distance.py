"""Squared distances of float32 rows on the vector unit, in a fixed order of sums: the same bits on every machine.

Sixteen partial sums, whatever the width of the machine's registers, added up pairwise at the end; no fused multiply-add. Rows are
padded with zeros to a multiple of sixteen. About ten times as fast as the loop that numba makes without reordering sums.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from cccount_dist.clustering.evidence.kernels import OPTIONS

LANES = 16
_LANE, _PLACE = ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(ir.FloatType(), LANES)


def padded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows, contiguous, with zeros up to a multiple of sixteen columns.

    >>> padded(np.ones((2, 3), np.float32)).shape
    (2, 16)
    """
    extra = -vectors.shape[1] % LANES
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, extra))) if extra else vectors)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _squared(_context: Any, x: Any, y: Any, length: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = zip(signature.args[:2], args[:2], strict=True)
        first, second = (cgutils.create_struct_proxy(kind)(context, builder, row).data for kind, row in rows)
        total = cgutils.alloca_once_value(builder, ir.Constant(_VECTOR, [0.0] * LANES))
        lanes = ir.Constant(_PLACE, LANES)
        with cgutils.for_range(builder, builder.udiv(args[2], lanes)) as loop:
            place = builder.mul(loop.index, lanes)
            away = builder.fsub(_load(builder, first, place), _load(builder, second, place))
            builder.store(builder.fadd(builder.load(total), builder.fmul(away, away)), total)
        sums, width = builder.load(total), LANES
        while width > 1:
            half = width // 2
            low, high = (_lanes(builder, sums, range(start, start + half)) for start in (0, half))
            sums, width = builder.fadd(low, high), half
        return builder.extract_element(sums, ir.Constant(_LANE, 0))

    return types.float32(x, y, length), generate


def _load(builder: Any, data: Any, place: Any) -> Any:
    loaded = builder.load(builder.bitcast(builder.gep(data, [place]), _VECTOR.as_pointer()))
    loaded.align = 4  # rows begin anywhere
    return loaded


def _lanes(builder: Any, vector: Any, chosen: range) -> Any:
    mask = ir.Constant(ir.VectorType(_LANE, len(chosen)), list(chosen))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


@njit(**OPTIONS)
def squared_distance(vectors, u, v):
    """Return |u - v|² of two rows of padded vectors; exactly 0 for duplicates."""
    return np.float64(_squared(vectors[u], vectors[v], vectors.shape[1]))  # type: ignore[call-arg, unused-ignore]
