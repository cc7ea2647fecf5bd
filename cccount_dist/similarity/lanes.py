"""The innermost loop, written for the vector unit: scores of a few items with 2 W others, summed and compared in registers.

BLAS would write every score to memory for another loop to read. Here a score lives in a register from the first product to the
comparison with the thresholds, and the whole pass takes about as long as the bare matrix product of OpenBLAS. It is also one
chain of fused multiply-adds in the order of dimensions: the same bits wherever a pair stands, and for every vector width.
numba's cache does not see changes of this file: remove __pycache__ after one.
"""
# ruff: noqa: ARG001 (numba calls the outer functions for their types and the inner ones for their code)

from typing import Any, NamedTuple

import llvmlite.binding  # type: ignore[import-untyped]
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

UNROLL = 4  # dimensions for one turn of the loop; vectors are padded with zeros to a multiple
SUMS = 32  # partial sums for a degree: a column's place modulo this, so that no machine sums in another order

_FLOAT = ir.FloatType()
_WORD = ir.IntType(32)
_PLACE = ir.IntType(64)


class Shape(NamedTuple):
    """Registers of the machine: vectors of `lanes` floats; `rows` x 2 of them hold scores. Decides the speed, not the result."""

    lanes: int
    rows: int

    @property
    def columns(self) -> int:
        return 2 * self.lanes


def host_shape() -> Shape:
    """Return the shape for this processor: half to all of its vector registers hold scores."""
    features = llvmlite.binding.get_host_cpu_features()
    if features.get("avx512f"):
        return Shape(16, 8)
    if features.get("avx2"):
        return Shape(8, 4)
    return Shape(4, 8)


class _Vectors:
    """Vector code for one shape: shorthand over llvmlite's builder."""

    def __init__(self, builder: Any, lanes: int) -> None:
        self.builder = builder
        self.lanes = lanes
        self.type = ir.VectorType(_FLOAT, lanes)
        self.zero = ir.Constant(self.type, [0.0] * lanes)
        kind = ir.FunctionType(self.type, [self.type] * 3)
        insert: Any = cgutils.get_or_insert_function
        self._fma = insert(builder.module, kind, f"llvm.fma.v{lanes}f32")

    def load(self, data: Any, place: Any) -> Any:
        vector = self.builder.load(self.builder.bitcast(self.builder.gep(data, [place]), self.type.as_pointer()))
        vector.align = 4
        return vector

    def store(self, vector: Any, data: Any, place: Any) -> None:
        target = self.builder.bitcast(self.builder.gep(data, [place]), self.type.as_pointer())
        self.builder.store(vector, target).align = 4

    def repeat(self, value: Any) -> Any:
        empty = ir.Constant(self.type, ir.Undefined)
        first = self.builder.insert_element(empty, value, ir.Constant(_WORD, 0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_WORD, self.lanes), [0] * self.lanes))

    def smaller(self, x: Any, y: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered("<", x, y), x, y)

    def larger(self, x: Any, y: Any) -> Any:
        return self.builder.select(self.builder.fcmp_ordered(">", x, y), x, y)

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        return self.builder.call(self._fma, [x, y, z])

    def at_least(self, x: Any, y: Any) -> Any:
        """Return one bit for each lane, as a number."""
        return self.builder.bitcast(self.builder.fcmp_ordered(">=", x, y), ir.IntType(self.lanes))


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _place(value: int) -> Any:
    return ir.Constant(_PLACE, value)


def _scores(v: _Vectors, shape: Shape, left: Any, left_at: Any, right: Any, right_at: Any, depth: Any) -> list[list[Any]]:
    """Emit the loop over dimensions; return the scores as `rows` pairs of vectors."""
    b = v.builder
    before, loop, after = b.block, b.append_basic_block("dimensions"), b.append_basic_block("scores")
    b.branch(loop)
    b.position_at_end(loop)
    done = b.phi(_PLACE)
    begun = [[b.phi(v.type), b.phi(v.type)] for _ in range(shape.rows)]
    sums: list[list[Any]] = begun
    left_at = b.add(left_at, b.mul(done, _place(shape.rows)))
    right_at = b.add(right_at, b.mul(done, _place(shape.columns)))
    for turn in range(UNROLL):
        at = b.add(right_at, _place(turn * shape.columns))
        columns = [v.load(right, at), v.load(right, b.add(at, _place(shape.lanes)))]
        for row in range(shape.rows):
            value = v.repeat(b.load(b.gep(left, [b.add(left_at, _place(turn * shape.rows + row))])))
            sums = [*sums[:row], [v.multiply_add(value, c, s) for c, s in zip(columns, sums[row], strict=True)], *sums[row + 1 :]]
    now = b.add(done, _place(UNROLL))
    done.add_incoming(_place(0), before)
    done.add_incoming(now, b.block)
    for start, end in zip(begun, sums, strict=True):
        for half in (0, 1):
            start[half].add_incoming(v.zero, before)
            start[half].add_incoming(end[half], b.block)
    b.cbranch(b.icmp_signed("<", now, depth), loop, after)
    b.position_at_end(after)
    return sums


def score_kernel(shape: Shape) -> Any:
    """Return the kernel for a shape, to be called in compiled code.

    It takes places in: the packed vectors of both sides and their depth, the thresholds of both sides, the limits that clip a
    score, the partial sums of both sides, where scores go, and the masks. It returns whether any score reached a threshold.
    """

    @intrinsic  # type: ignore[misc, unused-ignore]
    def kernel(
        typing: Any, left: Any, left_at: Any, right: Any, right_at: Any, depth: Any, row_limit: Any, row: Any,
        col_limit: Any, col: Any, low: Any, top: Any, row_sum: Any, row_sum_at: Any, col_sum: Any, col_sum_at: Any,
        out: Any, out_at: Any, out_step: Any, masks: Any,
    ) -> Any:  # fmt: skip
        place, number = types.intp, types.float32
        signature = types.uint32(
            left, place, right, place, place, row_limit, place, col_limit, place, number, number,
            row_sum, place, col_sum, place, out, place, place, masks,
        )  # fmt: skip

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            given = [
                _data(context, builder, kind, value) if isinstance(kind, types.Array) else value
                for kind, value in zip(kinds, arguments, strict=True)
            ]
            return _emit(builder, shape, *given)

        return signature, generate

    return kernel


def _emit(
    b: Any, shape: Shape, left: Any, left_at: Any, right: Any, right_at: Any, depth: Any, row_limit: Any, row: Any,
    col_limit: Any, col: Any, low: Any, top: Any, row_sum: Any, row_sum_at: Any, col_sum: Any, col_sum_at: Any,
    out: Any, out_at: Any, out_step: Any, masks: Any,
) -> Any:  # fmt: skip
    v = _Vectors(b, shape.lanes)
    halves = [_place(0), _place(shape.lanes)]
    scores = _scores(v, shape, left, left_at, right, right_at, depth)
    lowest, highest = v.repeat(low), v.repeat(top)
    limits = [v.load(col_limit, b.add(col, half)) for half in halves]
    below = [v.load(col_sum, b.add(col_sum_at, half)) for half in halves]
    reached: Any = ir.Constant(_WORD, 0)
    for r in range(shape.rows):
        limit = v.repeat(b.load(b.gep(row_limit, [b.add(row, _place(r))])))
        line = b.add(out_at, b.mul(out_step, _place(r)))
        beside = b.add(row_sum_at, _place(r * SUMS))
        mask: Any = ir.Constant(_WORD, 0)
        other: Any = ir.Constant(_WORD, 0)
        for h, half in enumerate(halves):
            score = scores[r][h]
            v.store(score, out, b.add(line, half))
            clipped = v.smaller(v.larger(b.fsub(score, lowest), v.zero), highest)
            below[h] = b.fadd(below[h], clipped)
            at = b.add(beside, half)
            v.store(b.fadd(v.load(row_sum, at), clipped), row_sum, at)
            shift = ir.Constant(_WORD, h * shape.lanes)
            mask = b.or_(mask, b.shl(b.zext(v.at_least(score, limit), _WORD), shift))
            other = b.or_(other, b.shl(b.zext(v.at_least(score, limits[h]), _WORD), shift))
        b.store(mask, b.gep(masks, [_place(r)]))
        b.store(other, b.gep(masks, [_place(shape.rows + r)]))
        for found, shift in ((mask, r), (other, 16 + r)):
            some = b.zext(b.icmp_unsigned("!=", found, ir.Constant(_WORD, 0)), _WORD)
            reached = b.or_(reached, b.shl(some, ir.Constant(_WORD, shift)))
    for h, half in enumerate(halves):
        v.store(below[h], col_sum, b.add(col_sum_at, half))
    return reached


@intrinsic  # type: ignore[misc, unused-ignore]
def at_least(typing: Any, values: Any, at: Any, limit: Any) -> Any:
    """Return the mask of `values[at + b] >= limit` for b = 0..31, as uint32; `at` counts places of the whole array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        v = _Vectors(builder, 32)
        line = v.load(_data(context, builder, signature.args[0], arguments[0]), arguments[1])
        return v.at_least(line, v.repeat(arguments[2]))

    return types.uint32(values, types.intp, types.float32), generate


@intrinsic  # type: ignore[misc, unused-ignore]
def lowest_bit(typing: Any, mask: Any) -> Any:
    """Return the number of the lowest bit that is set in a uint32 that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.zext(builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1)), _PLACE)

    return types.intp(types.uint32), generate
