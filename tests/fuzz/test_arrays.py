"""Oracle: known arrays. Sees damaged archives of arrays, object arrays, and headers that lie about sizes."""

import io
import pickle
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resaudit.jobs.results import load_arrays, save_arrays
from tests.fuzz.inputs import canary, damaged, fired, fuzzed, unless_refused


@dataclass(frozen=True)
class Pair:
    first: np.ndarray
    second: np.ndarray


RIGHT = Pair(np.arange(12.0).reshape(3, 4), np.array([1, 2], np.uint8))


class Malicious:
    def __reduce__(self) -> tuple[object, ...]:
        return (canary, ("called",))


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def headed(header: str, content: bytes = b"few") -> bytes:
    """A file of one array with any header."""
    raw = header.encode("latin1", "replace")
    return b"\x93NUMPY\x01\x00" + len(raw).to_bytes(2, "little") + raw + content


def zipped(entries: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)
    return file.getvalue()


VALID = zipped({"first.npy": npy(RIGHT.first), "second.npy": npy(RIGHT.second)})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arrays") / "it.npz"


def loaded(file: Path, content: bytes) -> Pair | None:
    """The arrays, or None where they are refused, with nothing run and nothing written."""
    file.write_bytes(content)
    found = unless_refused(lambda: load_arrays(file, Pair))
    assert not fired
    assert [path.name for path in file.parent.iterdir()] == ["it.npz"]
    return found


def test_saved_arrays_are_loaded(file: Path) -> None:
    save_arrays(file, RIGHT)
    found = loaded(file, file.read_bytes())
    assert found is not None
    np.testing.assert_array_equal(found.first, RIGHT.first)
    assert loaded(file, VALID) is not None


def test_object_arrays_are_not_unpickled(file: Path) -> None:
    array = np.empty(1, object)
    array[0] = Malicious()
    for content in (zipped({"first.npy": npy(array), "second.npy": npy(array)}), npy(array), pickle.dumps(Malicious())):
        assert loaded(file, content) is None


@pytest.mark.parametrize(
    "shape", ["(1000000000000,)", "(0,-1)", f"({10**30},)", "(-1,)", "(1,)*10", "(((((1,)))))", "'x'"]
)
def test_a_header_that_lies_takes_no_memory(shape: str, file: Path) -> None:
    entry = headed(f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n")
    assert loaded(file, zipped({"first.npy": entry, "second.npy": entry})) is None


HEADERS = st.builds(
    "{{'descr': {!r}, 'fortran_order': {}, 'shape': {}}}{}".format,
    st.sampled_from(["<f8", "|O", "|V8", "<U9", "|S0", "<M8[s]", "nonsense", [("a", "<f8"), ("b", "|O")]]),
    st.sampled_from(["True", "False", "1", "None"]),
    st.one_of(st.lists(st.integers(-1, 2**33), max_size=4).map(tuple), st.text(max_size=8)),
    st.sampled_from(["\n", "", " " * 20000, "(" * 500]),
)
ENTRIES = st.one_of(
    st.builds(headed, HEADERS, st.binary(max_size=200)), damaged(npy(RIGHT.first)), damaged(npy(RIGHT.second)),
    st.binary(max_size=64),
)  # fmt: skip
NAMES = st.sampled_from(["first.npy", "second.npy", "first", "second", "../../it.npy", "/it.npy", ""])


@fuzzed(1000)
@given(st.one_of(
    damaged(VALID), st.dictionaries(NAMES, ENTRIES, max_size=4).map(zipped), ENTRIES, st.binary(max_size=64)
))  # fmt: skip
def test_any_file_is_loaded_as_plain_arrays_or_refused(file: Path, content: bytes) -> None:
    found = loaded(file, content)
    if found is not None:
        assert isinstance(found.first, np.ndarray)
        assert not found.first.dtype.hasobject
        assert not found.second.dtype.hasobject
