"""The IDX format of MNIST: a big-endian header, then unsigned bytes."""

import math
import struct

import numpy as np

from resaudit.base.errors import ResauditError

_UNSIGNED_BYTES = 0x08
LARGEST_RANK = 4
"""Most dimensions of an array; MNIST's images have three, images in colours four."""
LARGEST_HEADER = 4 + 4 * LARGEST_RANK
"""Bytes."""


def parse_idx(content: bytes, what: str) -> np.ndarray:
    """Read an IDX file of unsigned bytes.

    Returns:
        A read-only array of dtype uint8 with the header's shape.

    Raises:
        ResauditError: it is not an IDX file, or its length contradicts its header.
    """
    shape, expected = shape_and_size(content, what)
    if len(content) != expected:
        raise ResauditError(f"{what} has {len(content)} bytes; its IDX header {shape} means {expected}")
    return np.frombuffer(content, dtype=np.uint8, offset=expected - math.prod(shape)).reshape(shape)


def shape_and_size(content: bytes, what: str) -> tuple[tuple[int, ...], int]:
    """The shape in an IDX header and the bytes of the whole file, of which the first :data:`LARGEST_HEADER` will do.

    Raises:
        ResauditError: it is not an IDX file.
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] != _UNSIGNED_BYTES:
        raise ResauditError(f"{what} is not an IDX file of unsigned bytes")
    rank = content[3]
    header = 4 + 4 * rank
    if len(content) < header:
        raise ResauditError(f"{what} ends inside its IDX header")
    shape = struct.unpack(f">{rank}I", content[4:header])
    if not 1 <= rank <= LARGEST_RANK or 0 in shape:
        raise ResauditError(
            f"{what} has the shape {shape[:8]} by its IDX header; allowed: 1 to {LARGEST_RANK} sizes, none of them 0"
        )
    return shape, header + math.prod(shape)


def to_idx(array: np.ndarray) -> bytes:
    """The IDX file of an array of unsigned bytes, the inverse of :func:`parse_idx`.

    >>> to_idx(np.array([7, 9], dtype=np.uint8)).hex()
    '00000801000000020709'
    """
    header = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTES, array.ndim, *array.shape)
    return header + np.ascontiguousarray(array, dtype=np.uint8).tobytes()
