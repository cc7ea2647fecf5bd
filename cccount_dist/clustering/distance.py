"""Squared distances and dot products of rows on the vector unit, in a fixed order of sums: the same bits on every machine.

Sixteen partial sums, whatever the width of the machine's registers, added up pairwise at the end; no fused multiply-add. Rows are
padded with zeros to a multiple of sixteen. Five to ten times as fast as the loop that numba makes without reordering sums.
"""
# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# numba infers the types of compiled functions from their arguments.

from collections.abc import Callable
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


def padded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows, contiguous, with zeros up to a multiple of sixteen columns: themselves, if they are so already.

    >>> padded(np.ones((2, 3), np.float32)).shape
    (2, 16)
    """
    extra = -vectors.shape[1] % LANES
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, extra))) if extra else vectors)


def _summed(term: Callable[[Any, Any, Any], Any]) -> Any:
    """Return a generator of code that adds up a term of two rows, sixteen columns at a time."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        rows = zip(signature.args[:2], args[:2], strict=True)
        first, second = (cgutils.create_struct_proxy(kind)(context, builder, row).data for kind, row in rows)
        vector = ir.VectorType(context.get_data_type(signature.return_type), LANES)
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        lanes = ir.Constant(_PLACE, LANES)
        with cgutils.for_range(builder, builder.udiv(args[2], lanes)) as loop:
            place = builder.mul(loop.index, lanes)
            x, y = _load(builder, vector, first, place), _load(builder, vector, second, place)
            builder.store(builder.fadd(builder.load(total), term(builder, x, y)), total)
        sums, width = builder.load(total), LANES
        while width > 1:
            half = width // 2
            low, high = (_lanes(builder, sums, range(start, start + half)) for start in (0, half))
            sums, width = builder.fadd(low, high), half
        return builder.extract_element(sums, ir.Constant(_LANE, 0))

    return generate


def _square_apart(builder: Any, x: Any, y: Any) -> Any:
    away = builder.fsub(x, y)
    return builder.fmul(away, away)


def _whole_numbers(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Code that adds up the products of two rows of bytes: whole numbers, so in any order the same."""
    rows = zip(signature.args[:2], args[:2], strict=True)
    first, second = (cgutils.create_struct_proxy(kind)(context, builder, row).data for kind, row in rows)
    loaded, wide = ir.VectorType(ir.IntType(8), LANES), ir.VectorType(ir.IntType(32), LANES)
    total = cgutils.alloca_once_value(builder, ir.Constant(wide, [0] * LANES))
    lanes = ir.Constant(_PLACE, LANES)
    with cgutils.for_range(builder, builder.udiv(args[2], lanes)) as loop:
        place = builder.mul(loop.index, lanes)
        x, y = (builder.sext(_load(builder, loaded, row, place, 1), wide) for row in (first, second))
        builder.store(builder.add(builder.load(total), builder.mul(x, y)), total)
    sums, width = builder.load(total), LANES
    while width > 1:
        half = width // 2
        low, high = (_lanes(builder, sums, range(start, start + half)) for start in (0, half))
        sums, width = builder.add(low, high), half
    return builder.extract_element(sums, ir.Constant(_LANE, 0))


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _byte_product(_context: Any, x: Any, y: Any, length: Any) -> Any:
    return types.int32(x, y, length), _whole_numbers


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _squared(_context: Any, x: Any, y: Any, length: Any) -> Any:
    return types.float32(x, y, length), _summed(_square_apart)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _product(_context: Any, x: Any, y: Any, length: Any) -> Any:
    return types.float64(x, y, length), _summed(lambda builder, x, y: builder.fmul(x, y))


def _load(builder: Any, vector: Any, data: Any, place: Any, align: int = 4) -> Any:
    loaded = builder.load(builder.bitcast(builder.gep(data, [place]), vector.as_pointer()))
    loaded.align = align  # rows begin anywhere
    return loaded


def _lanes(builder: Any, vector: Any, chosen: range) -> Any:
    mask = ir.Constant(ir.VectorType(_LANE, len(chosen)), list(chosen))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


@njit(**OPTIONS)
def squared_distance(vectors, u, v):
    """Return |u - v|² of two rows of padded vectors; exactly 0 for duplicates."""
    return np.float64(_squared(vectors[u], vectors[v], vectors.shape[1]))  # type: ignore[call-arg, unused-ignore]


@njit(**OPTIONS)
def squared_apart(x, y):
    """Return |x - y|² of two padded float32 rows."""
    return np.float64(_squared(x, y, x.shape[0]))  # type: ignore[call-arg, unused-ignore]


@njit(**OPTIONS)
def dot(x, y):
    """Return the dot product of two padded float64 rows."""
    return _product(x, y, x.shape[0])  # type: ignore[call-arg, unused-ignore]


@njit(**OPTIONS)
def dot_of_bytes(x, y):
    """Return the dot product of two padded int8 rows, exactly; up to 130,000 columns."""
    return _byte_product(x, y, x.shape[0])  # type: ignore[call-arg, unused-ignore]
