"""The IDX format of MNIST: a big-endian header, then unsigned bytes."""

import math
import struct

import numpy as np

from resaudit.base.errors import DataError

_UNSIGNED_BYTES = 0x08
LARGEST_RANK = 4
"""Most dimensions of an array; MNIST's images have three, images in colours four."""


def parse_idx(content: bytes, name: str) -> np.ndarray:
    """Read an IDX file of unsigned bytes.

    Args:
        content: bytes of the file.
        name: name of the file, for errors.

    Returns:
        A read-only array of dtype uint8 with the header's shape.
    """
    first, shape = parse_header(content, name)
    if len(content) != first + math.prod(shape):
        raise DataError(
            f"{name} has {len(content)} bytes, but its IDX header {shape!s} means {first + math.prod(shape)}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=first).reshape(shape)


def parse_header(content: bytes, name: str) -> tuple[int, tuple[int, ...]]:
    """The number of bytes of an IDX file's header, and the shape that it states; raises as :func:`parse_idx`."""
    rank = content[3] if len(content) > 3 else 0
    first = 4 + 4 * rank
    if content[:3] != bytes((0, 0, _UNSIGNED_BYTES)) or len(content) < first:
        raise DataError(f"{name} is not an IDX file of unsigned bytes")
    shape = struct.unpack(f">{rank}I", content[4:first])
    if not 1 <= rank <= LARGEST_RANK or 0 in shape:
        raise DataError(
            f"{name} has the shape {shape[:8]!s} by its IDX header; allowed: 1 to {LARGEST_RANK} sizes, none of them 0"
        )
    return first, shape


def to_idx(array: np.ndarray) -> bytes:
    """The IDX file of an array of unsigned bytes, the inverse of :func:`parse_idx`.

    >>> to_idx(np.array([7, 9], dtype=np.uint8)).hex()
    '00000801000000020709'
    """
    header = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTES, array.ndim, *array.shape)
    return header + np.ascontiguousarray(array, dtype=np.uint8).tobytes()
