"""Three vector instructions that numba does not offer: compare 32 floats with thresholds into a bit mask, and walk the bits.

numba vectorises sums by itself, but a loop that leaves the vector path for one entry in a thousand it compiles entry by
entry. With these, a scan costs a load, a minimum and a comparison for 16 entries (AVX-512) or 8 (AVX2, NEON: LLVM decides).
"""
# ruff: noqa: ARG001 (numba calls the outer functions for their types and the inner ones for their code)

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

LANES = 32
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_WORD = ir.IntType(32)


def _load(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    data = context.make_array(kind)(context, builder, array).data
    pointer = builder.bitcast(builder.gep(data, [start]), _VECTOR.as_pointer())
    vector = builder.load(pointer)
    vector.align = 4  # rows of a tile start anywhere
    return vector


def _repeat(builder: Any, value: Any) -> Any:
    empty = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(_WORD, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_WORD, LANES), [0] * LANES))


@intrinsic
def at_least_either(typing: Any, values: Any, start: Any, thresholds: Any, first: Any, threshold: Any) -> Any:
    """Return the mask of `values.flat[start + b] >= min(thresholds[first + b], threshold)` for b = 0..31, as uint32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _load(context, builder, signature.args[0], arguments[0], arguments[1])
        column = _load(context, builder, signature.args[2], arguments[2], arguments[3])
        row = _repeat(builder, arguments[4])
        lower = builder.select(builder.fcmp_ordered("<", column, row), column, row)
        return builder.bitcast(builder.fcmp_ordered(">=", value, lower), _WORD)

    return types.uint32(values, types.intp, thresholds, types.intp, types.float32), generate


@intrinsic
def at_least(typing: Any, values: Any, start: Any, threshold: Any) -> Any:
    """Return the mask of `values.flat[start + b] >= threshold` for b = 0..31, as uint32."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _load(context, builder, signature.args[0], arguments[0], arguments[1])
        return builder.bitcast(builder.fcmp_ordered(">=", value, _repeat(builder, arguments[2])), _WORD)

    return types.uint32(values, types.intp, types.float32), generate


@intrinsic
def lowest_bit(typing: Any, mask: Any) -> Any:
    """Return the number of the lowest bit that is set in a mask that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1)), ir.IntType(64))

    return types.intp(types.uint32), generate
