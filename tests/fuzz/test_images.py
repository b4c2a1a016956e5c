"""Oracle: the digests of the right records. Sees a damaged copy or image that ends a fetch other than in one line."""

import hashlib
import io
import pickle
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from resaudit.data.dataset import Dataset
from resaudit.data.description import description_of
from resaudit.data.fetch import fetch
from resaudit.data.images import to_records
from tests.fuzz.inputs import damaged, fuzzed, unless_refused

PIXELS = np.arange(2 * 3072, dtype=np.uint32).astype(np.uint8).reshape(2, 3072)
RECORDS = {"data_batch_1.bin": to_records(PIXELS, [[1, 2]]), "test_batch.bin": to_records(PIXELS, [[3, 4]])}  # type: ignore[list-item]
PICKLES = {
    name: pickle.dumps({"data": PIXELS, "labels": labels}, protocol=2)
    for name, labels in (("data_batch_1", [1, 2]), ("test_batch", [3, 4]))
}


def image(kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(PIXELS.reshape(-1, 32, 3)[:8, :8]).save(file, kind)
    return file.getvalue()


KINDS = {"train/a": "png", "train/b": "jpeg", "test/a": "jpeg", "test/b": "png", "test/c": "webp", "train/c": "bmp"}
IMAGES = {f"{folder}/0.{kind}": image(kind) for folder, kind in KINDS.items()}


def archive(files: dict[str, bytes], mode: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as opened:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            opened.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def dataset_of(folder: Path, **more: Any) -> Dataset:
    given = {"name": "it", "title": "It", "citation": "", "licence": "", "sources": ["folder"], "folder": str(folder)}
    return Dataset.model_validate(given | more)


def cifar(folder: Path) -> Dataset:
    files = {
        key: {"name": name, "size": len(content), "sha1": hashlib.sha1(content).hexdigest()}
        for key, (name, content) in zip(("train", "test"), RECORDS.items(), strict=True)
    }
    known = {name: hashlib.md5(content).hexdigest() for name, content in PICKLES.items()}
    return dataset_of(folder, format="cifar", classes=10, labels=1, files=files, pickles=known, address="https://here")


def fetched(dataset: Dataset, store: Path) -> bool:
    """Whether the right files were stored; if not, nothing was, and one line said why."""
    if unless_refused(lambda: fetch(dataset, store)) is None:
        assert not store.exists()
        return False
    for file in dataset.files.values():
        content = (store / file.name).read_bytes()
        assert file.digest_of(content) == file.digest
        (store / file.name).unlink()
    store.rmdir()
    return True


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("fuzz")
    (root / "mine").mkdir()
    return root


COPIES = {mode[2:]: archive(PICKLES, mode) for mode in ("w:", "w:gz", "w:xz")}


@pytest.mark.parametrize("name", COPIES)
def test_right_copies_are_taken(name: str, root: Path) -> None:
    (root / "mine" / "it.tar").write_bytes(COPIES[name])
    assert fetched(cifar(root / "mine" / "it.tar"), root / "store")


@fuzzed(300)
@given(st.sampled_from(list(COPIES)).flatmap(lambda name: damaged(COPIES[name])))
def test_any_archive_is_right_or_refused(root: Path, content: bytes) -> None:
    (root / "mine" / "it.tar").write_bytes(content)
    fetched(cifar(root / "mine" / "it.tar"), root / "store")


@fuzzed(300)
@given(st.sampled_from(list(PICKLES)).flatmap(lambda name: st.tuples(st.just(name), damaged(PICKLES[name]))))
def test_any_pickle_is_right_or_refused(root: Path, changed: tuple[str, bytes]) -> None:
    (root / "mine" / "it.tar").write_bytes(archive(PICKLES | dict([changed]), "w:"))
    taken = fetched(cifar(root / "mine" / "it.tar"), root / "store")
    assert taken == (PICKLES[changed[0]] == changed[1])


@fuzzed(400)
@given(st.sampled_from(list(IMAGES)).flatmap(lambda name: st.tuples(st.just(name), damaged(IMAGES[name]))))
def test_any_image_is_decoded_or_refused(root: Path, changed: tuple[str, bytes]) -> None:
    (root / "images.tar").write_bytes(archive(IMAGES | dict([changed]), "w:"))
    found = unless_refused(lambda: description_of(root / "images.tar"))
    if found is not None:
        assert fetched(dataset_of(root / "images.tar", **found), root / "store")
