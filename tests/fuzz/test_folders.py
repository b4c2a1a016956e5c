"""Oracle: the checksums of the right files. Sees a damaged file of a user's folder that ends a fetch or is stored."""

import gzip
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resaudit.data.dataset import DataFile, IdxDataset
from resaudit.data.fetch import fetch
from tests.fuzz.inputs import damaged, fuzzed, unless_refused

RIGHT = {key: key.encode() * 9 for key in ("train_images", "train_labels", "test_images", "test_labels")}
FILES = {key: DataFile(name=key, size=len(raw), sha256=hashlib.sha256(raw).hexdigest()) for key, raw in RIGHT.items()}
PACKED = {key: gzip.compress(raw, mtime=0) for key, raw in RIGHT.items()}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fuzz")
    (root / "mine").mkdir()
    return root


def fetched(files: dict[str, bytes], root: Path) -> bool:
    """Whether the right files were stored; if not, nothing was, and one line said why."""
    folder, store = root / "mine", root / "store"
    for name, content in files.items():
        (folder / name).write_bytes(content)
    dataset = IdxDataset(
        name="it", title="It", citation="", licence="", classes=10, files=FILES, sources=["folder"], folder=str(folder)
    )
    said = unless_refused(lambda: fetch(dataset, store))
    if said is None:
        assert not store.exists()
        return False
    for key, raw in RIGHT.items():
        assert (store / key).read_bytes() == raw
        (store / key).unlink()
    store.rmdir()
    return True


def test_right_files_are_taken(root: Path) -> None:
    assert fetched({f"{key}.gz": content for key, content in PACKED.items()}, root)


@fuzzed(500)
@given(st.sampled_from(list(RIGHT)), st.data())
def test_any_file_in_a_folder_is_right_or_refused(root: Path, key: str, data: st.DataObject) -> None:
    content = data.draw(st.one_of(damaged(PACKED[key]), damaged(RIGHT[key]).map(gzip.compress), st.binary(max_size=64)))
    files = {f"{name}.gz": packed for name, packed in PACKED.items()} | {f"{key}.gz": content}
    if fetched(files, root):
        assert gzip.decompress(content) == RIGHT[key]
