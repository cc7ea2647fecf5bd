"""Write an ONNX model: the few protobuf fields that a chain of convolutions needs, so that no ONNX package is installed.

Field numbers are those of onnx.proto3 (IR version 8, operator set 13). A graph is built in order and costs its weights once.
"""

import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

_FLOAT = 1  # TensorProto.DataType
_INT, _STRING, _INTS = 2, 3, 7  # AttributeProto.AttributeType

Attribute = int | str | Sequence[int]


class GraphWriter:
    """An ONNX graph under construction, with one input and one output."""

    def __init__(self, input_name: str, input_shape: Sequence[int | str]) -> None:
        self.input = input_name
        self._input_shape = input_shape
        self._nodes: list[bytes] = []
        self._weights: list[bytes] = []

    def weight(self, values: NDArray[np.floating]) -> str:
        """Add a constant and return its name."""
        name = f"w{len(self._weights)}"
        data = np.ascontiguousarray(values, "<f4")
        dims = b"".join(_varint_field(1, size) for size in data.shape)
        self._weights.append(dims + _varint_field(2, _FLOAT) + _bytes_field(8, name.encode()) + _bytes_field(9, data.tobytes()))
        return name

    def op(self, kind: str, inputs: Sequence[str], **attributes: Attribute) -> str:
        """Add an operator and return the name of its output."""
        name = f"t{len(self._nodes)}"
        node = b"".join(_bytes_field(1, source.encode()) for source in inputs)
        node += _bytes_field(2, name.encode()) + _bytes_field(4, kind.encode())
        self._nodes.append(node + _attributes(attributes))
        return name

    def model(self, output: str, output_shape: Sequence[int | str]) -> bytes:
        """Return the whole model, serialised."""
        graph = b"".join(_bytes_field(1, node) for node in self._nodes)
        graph += _bytes_field(2, b"cccount")
        graph += b"".join(_bytes_field(5, weight) for weight in self._weights)
        graph += _bytes_field(11, _value(self.input, self._input_shape))
        graph += _bytes_field(12, _value(output, output_shape))
        operators = _bytes_field(1, b"") + _varint_field(2, 13)
        return _varint_field(1, 8) + _bytes_field(7, graph) + _bytes_field(8, operators)


def _attributes(attributes: Mapping[str, Attribute]) -> bytes:
    out = b""
    for name, value in attributes.items():
        head = _bytes_field(1, name.encode())
        if isinstance(value, int):
            body = _varint_field(3, value) + _varint_field(20, _INT)
        elif isinstance(value, str):
            body = _bytes_field(4, value.encode()) + _varint_field(20, _STRING)
        else:
            body = b"".join(_varint_field(8, number) for number in value) + _varint_field(20, _INTS)
        out += _bytes_field(5, head + body)
    return out


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(
        _bytes_field(1, _bytes_field(2, size.encode()) if isinstance(size, str) else _varint_field(1, size)) for size in shape
    )
    tensor = _varint_field(1, _FLOAT) + _bytes_field(2, dims)
    return _bytes_field(1, name.encode()) + _bytes_field(2, _bytes_field(1, tensor))


def _varint(number: int) -> bytes:
    """
    >>> _varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + struct.pack("B", number)


def _varint_field(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number)


def _bytes_field(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


__all__ = ["GraphWriter"]
