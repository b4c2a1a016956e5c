"""Oracle: the format's inverse. Sees headers that lie about sizes, and arrays that NumPy cannot hold."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resaudit.base.errors import DataError
from resaudit.data.images import parse_idx, to_idx
from tests.fuzz.inputs import damaged, fuzzed, unless_refused
from tests.refusals import refused

VALID = to_idx(np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4))
SIZES = st.one_of(st.integers(0, 4), st.sampled_from([2**16, 2**31 - 1, 2**31, 2**32 - 1]))


@st.composite
def headed(draw: st.DrawFn) -> bytes:
    """A header of any rank and sizes, before any bytes."""
    sizes = draw(st.lists(SIZES, max_size=255))
    kind, rank = draw(st.sampled_from([8, 9, 13])), draw(st.one_of(st.just(len(sizes)), st.integers(0, 255)))
    return struct.pack(f">HBB{len(sizes)}I", 0, kind, rank, *sizes) + draw(st.binary(max_size=64))


@pytest.mark.parametrize("dimensions", [65, 255])
def test_more_dimensions_than_numpy_has_are_refused(dimensions: int) -> None:
    with refused(DataError, "it"):
        parse_idx(struct.pack(f">HBB{dimensions}I", 0, 8, dimensions, *[1] * dimensions) + b"\1", "it")


def test_an_empty_array_of_absurd_sizes_is_refused() -> None:
    with refused(DataError, "it"):
        parse_idx(struct.pack(">HBB3I", 0, 8, 3, 0, 2**32 - 1, 2**32 - 1), "it")


@fuzzed(1000)
@given(st.one_of(headed(), damaged(VALID), st.binary(max_size=64)))
def test_any_bytes_parse_to_what_they_say_or_are_refused(content: bytes) -> None:
    array = unless_refused(lambda: parse_idx(content, "it"))
    assert array is None or to_idx(array) == content
