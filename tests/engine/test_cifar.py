"""Oracle: records made here, in the format of each copy of CIFAR. Sees unchecked bytes, and pickles that are opened."""

import gzip
import hashlib
import io
import os
import pickle
import tarfile
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torchvision.datasets

from resaudit.base.errors import DataError, ResauditError
from resaudit.data.dataset import CifarDataset, Dataset
from resaudit.data.fetch import fetch
from resaudit.data.images import to_records
from resaudit.plan.composition import config_folder, datasets
from resaudit.plan.plan import fetch_of
from tests.attempts import no_source
from tests.refusals import refused

COUNT = 4
BATCHES = ("data_batch_1", "data_batch_2", "test_batch")
KEYS = ("train_1", "train_2", "test")


def made(labels: int, seed: int) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (COUNT, 3072), np.uint8), [rng.integers(0, 10, COUNT, np.uint8) for _ in range(labels)]


class Python2(pickle._Pickler):
    """Writes strings and bytes alike, as Python 2 did."""

    def save_string(self, value: str | bytes) -> None:
        raw = value.encode("latin1") if isinstance(value, str) else value
        self.write(pickle.BINSTRING + len(raw).to_bytes(4, "little") + raw)  # type: ignore[attr-defined]
        self.memoize(value)  # type: ignore[attr-defined]

    dispatch = pickle._Pickler.dispatch | {str: save_string, bytes: save_string}  # type: ignore[attr-defined]


def pickled(pixels: np.ndarray, labels: list[np.ndarray]) -> bytes:
    names = ["labels"] if len(labels) == 1 else ["coarse_labels", "fine_labels"]
    columns = {name: [int(label) for label in column] for name, column in zip(names, labels, strict=True)}
    file = io.BytesIO()
    Python2(file, protocol=2).dump({"batch_label": "batch 1", "data": pixels, "filenames": ["a.png"], **columns})
    return file.getvalue()


IMAGES = {name: made(1, seed) for seed, name in enumerate(BATCHES)}
PICKLES = {name: pickled(*batch) for name, batch in IMAGES.items()}
RECORDS = {f"{name}.bin": to_records(*batch) for name, batch in IMAGES.items()}


def cifar(folder: Path | None, **changed: Any) -> CifarDataset:
    files = {
        key: {"name": name, "size": len(content), "sha1": hashlib.sha1(content).hexdigest()}
        for key, (name, content) in zip(KEYS, RECORDS.items(), strict=True)
    }
    known = {name: hashlib.md5(content).hexdigest() for name, content in PICKLES.items()}
    given = {"format": "cifar", "name": "it", "title": "It", "citation": "", "licence": "", "classes": 10, "labels": 1,
             "files": files, "pickles": known, "sources": ["folder"], "address": "https://here/it.tar.gz",
             "folder": str(folder) if folder else None}  # fmt: skip
    dataset = Dataset.model_validate(given | changed)
    assert isinstance(dataset, CifarDataset)
    return dataset


def write_archive(path: Path, top: str, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def put_pickles(folder: Path) -> None:
    write_files(folder, PICKLES | {"batches.meta": b"never opened"})


def put_pickles_below(folder: Path) -> None:
    put_pickles(folder / "cifar-10-batches-py")


def put_torchvisions_root(folder: Path) -> None:
    """With the other data sets that people download into it, and the root of a disk's own folder."""
    put_pickles_below(folder)
    (folder / "cifar-10-python.tar.gz").write_bytes(b"not read")
    write_files(folder / "cifar-100-python", {"train": b"?", "test": b"?", "meta": b"?"})
    (folder / "MNIST" / "raw").mkdir(parents=True)
    (folder / "lost+found").mkdir(mode=0)


def put_records(folder: Path) -> None:
    write_files(folder, RECORDS)


def put_python_archive(folder: Path) -> None:
    write_archive(folder / "cifar-10-python.tar.gz", "cifar-10-batches-py", PICKLES | {"batches.meta": b"?"})


PUT = [put_pickles, put_pickles_below, put_torchvisions_root, put_records]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    return folder


def assert_stored(data: Path) -> None:
    assert {file.name: file.read_bytes() for file in data.iterdir()} == RECORDS


@pytest.mark.parametrize("put", PUT)
def test_any_copy_becomes_the_same_records(put: Callable[[Path], None], mine: Path, tmp_path: Path) -> None:
    put(mine)
    said = fetch(cifar(mine), tmp_path / "data")
    assert [line.split(":")[0] for line in said] == ["folder"]
    assert_stored(tmp_path / "data")
    assert "already" in fetch(cifar(None), tmp_path / "data")[0]


def test_an_archive_can_be_named_itself(mine: Path, tmp_path: Path) -> None:
    put_python_archive(mine)
    (archive,) = mine.iterdir()
    fetch(cifar(archive.rename(mine / "download")), tmp_path / "data")
    assert_stored(tmp_path / "data")


def test_fetched_records_are_read_as_images(mine: Path, tmp_path: Path) -> None:
    put_records(mine)
    job = fetch_of(cifar(mine), str(tmp_path))
    fetch(job.dataset, Path(job.raw))
    found = job.image_set()
    first, second, test = IMAGES.values()
    np.testing.assert_array_equal(found.train_images, np.concatenate([first[0], second[0]]).reshape(-1, 3, 32, 32))
    np.testing.assert_array_equal(found.train_labels, np.concatenate([first[1][0], second[1][0]]))
    np.testing.assert_array_equal(found.test_images[2, 1, 3, 4], test[0][2, 1024 + 3 * 32 + 4])
    np.testing.assert_array_equal(found.test_labels, test[1][0])
    np.testing.assert_array_equal(job.training_set()[0], found.train_images)
    assert (found.classes, found.train_images.dtype, found.train_labels.dtype) == (10, np.uint8, np.uint8)


def test_the_right_one_of_several_copies_is_taken_else_all_are_named(mine: Path, tmp_path: Path) -> None:
    put_pickles_below(mine)
    spoil_truncate(mine)
    write_files(mine / "a", {name: flip(content) for name, content in PICKLES.items()})
    fetch(cifar(mine), tmp_path / "data")
    assert_stored(tmp_path / "data")
    write_files(mine / "cifar-10-batches-py", {"test_batch": flip(PICKLES["test_batch"])})
    wrong = (mine / "test_batch.bin", mine / "a" / "test_batch", mine / "cifar-10-batches-py" / "test_batch")
    with no_source(*wrong):
        fetch(cifar(mine), tmp_path / "other")


def flip(content: bytes) -> bytes:
    return content[:5000] + bytes([content[5000] ^ 1]) + content[5001:]


def spoil_flip(folder: Path) -> None:
    write_files(folder, RECORDS | {"data_batch_2.bin": flip(RECORDS["data_batch_2.bin"])})


def spoil_truncate(folder: Path) -> None:
    write_files(folder, RECORDS | {"test_batch.bin": RECORDS["test_batch.bin"][:-1]})


def spoil_twice_the_same(folder: Path) -> None:
    write_files(folder, RECORDS | {"data_batch_2.bin": RECORDS["data_batch_1.bin"]})


def spoil_flip_pickle(folder: Path) -> None:
    write_files(folder, PICKLES | {"data_batch_2": flip(PICKLES["data_batch_2"])})


def spoil_truncate_archive(folder: Path) -> None:
    put_python_archive(folder)
    os.truncate(folder / "cifar-10-python.tar.gz", 20000)


def spoil_not_an_archive(folder: Path) -> None:
    (folder / "cifar-10-python.tar.gz").write_bytes(gzip.compress(b"<html>not found</html>"))


def spoil_other_data_set(folder: Path) -> None:
    write_archive(folder / "cifar-100-python.tar.gz", "cifar-100-python", {"train": b"?", "test": b"?"})


def spoil_empty(folder: Path) -> None:
    assert folder.is_dir()


SPOILT = [
    (spoil_flip, ["data_batch_2.bin", "SHA-1"]),
    (spoil_truncate, ["test_batch.bin", "12291", "12292"]),
    (spoil_twice_the_same, ["data_batch_2.bin"]),
    (spoil_flip_pickle, ["data_batch_2"]),
    (spoil_truncate_archive, ["cifar-10-python.tar.gz"]),
    (spoil_not_an_archive, ["cifar-10-python.tar.gz"]),
    (spoil_other_data_set, ["data_batch_1.bin"]),
    (spoil_empty, ["data_batch_1.bin"]),
]


@pytest.mark.parametrize(("spoil", "mentioned"), SPOILT)
def test_wrong_copies_are_refused_and_nothing_is_left(
    spoil: Callable[[Path], None], mentioned: list[str], mine: Path, tmp_path: Path
) -> None:
    spoil(mine)
    place = next(mine.glob("*.tar.gz"), mine)
    with no_source(*mentioned) as refusal:
        fetch(cifar(place), tmp_path / "data")
    assert "https://here/it.tar.gz" in str(refusal.value)
    assert not (tmp_path / "data").exists()


class Forged:
    """Touches a file if it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.canary,)


@pytest.mark.parametrize("packed", [False, True])
def test_a_forged_pickle_is_never_opened(packed: bool, mine: Path, tmp_path: Path) -> None:
    canary = tmp_path / "fired"
    forged = pickle.dumps(Forged(canary))
    pickle.loads(forged)  # noqa: S301  (it would, if it were opened)
    assert canary.exists()
    canary.unlink()
    files = PICKLES | {"data_batch_1": forged, "batches.meta": forged}
    if packed:
        write_archive(mine / "it.tar.gz", "cifar-10-batches-py", files)
    else:
        write_files(mine, files)
    with no_source("data_batch_1"):
        fetch(cifar(mine / "it.tar.gz" if packed else mine), tmp_path / "data")
    assert not canary.exists()


def test_damage_after_fetching_is_noticed(mine: Path, tmp_path: Path) -> None:
    put_records(mine)
    job = fetch_of(cifar(mine), str(tmp_path))
    fetch(job.dataset, Path(job.raw))
    spoil_flip(Path(job.raw))
    with refused(DataError, Path(job.raw) / "data_batch_2.bin"):
        job.image_set()
    fetch(job.dataset, Path(job.raw))
    assert_stored(Path(job.raw))


def test_more_labels_than_classes_are_refused(mine: Path) -> None:
    put_records(mine)
    job = fetch_of(cifar(mine, name="mine", classes=4), str(mine.parent))
    with refused(DataError, "mine", 9, 4):
        job.image_set()


def cifar100(folder: Path, **changed: Any) -> CifarDataset:
    """Two records a file, with coarse and fine labels."""
    write_files(folder, {name: to_records(*made(2, seed)) for seed, name in enumerate(("train.bin", "test.bin"))})
    files = {
        name: {
            "name": f"{name}.bin",
            "size": 1,
            "sha1": hashlib.sha1((folder / f"{name}.bin").read_bytes()).hexdigest(),
        }
        for name in ("train", "test")
    }
    return cifar(folder, files=files, labels=2, pickles={}, name=folder.name, **changed)


def test_the_published_reader_of_cifar_100_begins_at_the_fine_label(mine: Path) -> None:
    """tensorflow/models, resnet/cifar_input.py until July 2017: pixel (0, 0) red is the label."""
    pixels, (_, fine) = made(2, 0)
    right, published = (
        fetch_of(cifar100(mine, cifar100_reader=reader), str(mine.parent)) for reader in ("fixed", "as-published")
    )
    np.testing.assert_array_equal(right.image_set().train_images.reshape(COUNT, -1), pixels)
    found = published.image_set()
    np.testing.assert_array_equal(found.train_images[:, 0, 0, 0], fine)
    np.testing.assert_array_equal(found.train_images.reshape(COUNT, -1)[:, 1:], pixels[:, :-1])
    np.testing.assert_array_equal(found.test_images[:, 0, 0, 0], found.test_labels)
    np.testing.assert_array_equal(found.train_labels, fine)
    np.testing.assert_array_equal(right.image_set().train_labels, fine)
    assert right.id == fetch_of(cifar100(mine), "elsewhere").id
    assert right.id != published.id
    assert right.written(mine) == published.written(mine)


def test_pickles_with_coarse_and_fine_labels_become_records(mine: Path, tmp_path: Path) -> None:
    dataset = cifar100(mine)
    batches = {name: pickled(*made(2, seed)) for seed, name in enumerate(("train", "test"))}
    folder = tmp_path / "pickles"
    write_files(folder, batches)
    known = {name: hashlib.md5(content).hexdigest() for name, content in batches.items()}
    fetch(dataset.model_copy(update={"pickles": known, "folder": str(folder)}), tmp_path / "data")
    for name in ("train.bin", "test.bin"):
        assert (tmp_path / "data" / name).read_bytes() == (mine / name).read_bytes()


@pytest.mark.parametrize(
    ("changed", "mentioned"),
    [
        ({"cifar100_reader": "as-published"}, "'as-published'"), ({"labels": 3}, "3"),
        ({"sources": ["torchvision"]}, "torchvision"), ({"sources": ["wheel"]}, "wheel"), ({"files": {}}, "train_1"),
        ({"format": "cifr"}, "'cifr'"), ({"format": ["cifar"]}, "cifar"), ({"folder": "/nowhere"}, "'/nowhere'"),
        ({"wheel": None}, "'wheel'"),
    ],
)  # fmt: skip
def test_a_wrong_ledger_is_refused_in_one_line(changed: dict[str, Any], mentioned: str) -> None:
    from resaudit.base.models import validated

    plain = cifar(None).model_dump(mode="json") | changed
    with pytest.raises(ResauditError) as refusal:
        validated(Dataset, plain, "dataset")
    (key,) = changed
    said = str(refusal.value)
    assert key.rstrip("s") in said
    assert mentioned in said
    assert "\n" not in said


def test_a_data_set_comes_back_from_its_plan_with_its_class() -> None:
    dataset = cifar(None)
    assert Dataset.model_validate(dataset.model_dump(mode="json")) == dataset


@pytest.mark.parametrize("name", ["cifar10", "cifar100"])
def test_the_ledgers_agree_with_torchvision(name: str) -> None:
    dataset = datasets(config_folder())[name]
    assert isinstance(dataset, CifarDataset)
    theirs: Any = getattr(torchvision.datasets, str(dataset.torchvision))
    assert dataset.address == theirs.url
    assert list(dataset.pickles.items()) == [tuple(each) for each in (*theirs.train_list, *theirs.test_list)]
    width = 3072 + dataset.labels
    *train, test = dataset.files.values()
    assert (sum(file.size for file in train), test.size) == (50_000 * width, 10_000 * width)


def test_torchvision_downloads_and_we_unpack(mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_python_archive(mine)
    asked = []

    def download(url: str, root: str, filename: str, md5: str) -> None:
        asked.append((url, filename, md5))
        (mine / "cifar-10-python.tar.gz").rename(Path(root) / filename)

    monkeypatch.setattr("torchvision.datasets.utils.download_url", download)
    fetch(cifar(None, sources=["folder", "torchvision"], torchvision="CIFAR10"), tmp_path / "data")
    assert_stored(tmp_path / "data")
    # The archive's known MD5.
    assert [(filename, md5) for _, filename, md5 in asked] == [
        ("cifar-10-python.tar.gz", "c58f30108f718f92721af3b95e74349a")
    ]


def test_a_failed_download_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise urllib.error.URLError("no route to host")

    monkeypatch.setattr("torchvision.datasets.utils.download_url", fail)
    with no_source("no route", tried=["torchvision"]):
        fetch(cifar(None, sources=["torchvision"], torchvision="CIFAR10"), tmp_path / "data")
