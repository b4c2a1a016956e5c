"""Oracle: the format's definition and its inverse. Sees wrong byte order, unchecked lengths, overflow of sizes."""

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as npst

from resaudit.base.errors import DataError, ResauditError
from resaudit.data.description import described
from resaudit.data.images import parse_idx, to_idx
from tests.refusals import refused


@given(npst.arrays(np.uint8, npst.array_shapes(min_dims=1, max_dims=3, max_side=6)))
def test_parsing_undoes_writing(array: np.ndarray) -> None:
    np.testing.assert_array_equal(parse_idx(to_idx(array), "it"), array)


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"", "is not an IDX file"),
        (b"\0\0\x0d\x01\0\0\0\x01" + b"\0" * 4, "is not an IDX file"),
        (b"\0\0\x08\x03\0\0", "is not an IDX file"),
        (b"\0\0\x08\x01\0\0\0\x05abc", "but its IDX header"),
        (b"\0\0\x08\x01\0\0\0\x02abc", "but its IDX header"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "but its IDX header"),
    ],
)
def test_malformed_files_are_refused(content: bytes, fact: str) -> None:
    with refused(DataError, fact, "it"):
        parse_idx(content, "it")


@pytest.mark.parametrize("begins", [b"", to_idx(np.zeros(16, dtype=np.uint8))])
def test_a_packed_file_is_unpacked_no_further_than_its_header_states(begins: bytes, tmp_path: Path) -> None:
    with gzip.open(tmp_path / "train-images-idx3-ubyte.gz", "wb", compresslevel=1) as file:
        file.write(begins)
        for _ in range(64):
            file.write(bytes(2**20))
    for other in ("train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (tmp_path / f"{other}-ubyte").touch()
    tracemalloc.start()
    try:
        with pytest.raises(ResauditError, match="train-images-idx3-ubyte"):
            described(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
