"""Labelled images in memory, and how they are stored: IDX files, or the records of CIFAR.

The IDX format of MNIST is a big-endian header, then unsigned bytes. CIFAR's records are read from the batches for
Python, and accepted by the digests of the records alone: torchvision's reader drops CIFAR-100's coarse labels and, with
them, the published records. A record is one label byte (CIFAR-100: two, coarse and fine), then 1024 red, 1024 green and
1024 blue bytes of an image of 32 x 32 pixels, row by row (https://www.cs.toronto.edu/~kriz/cifar.html).
"""

import hashlib
import math
import os
import pickle
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from resaudit.base.errors import DataError
from resaudit.data.dataset import FILES, LARGEST_FILE, CifarDataset, Dataset, ImageFolderDataset, StoredFile
from resaudit.data.files import beginning, children, right_one, unpacked

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32


def to_records(pixels: np.ndarray, labels: Sequence[np.ndarray]) -> bytes:
    r"""The records of images.

    >>> to_records(np.zeros((1, 3072), np.uint8), [np.array([19]), np.array([29])])[:3]
    b'\x13\x1d\x00'
    """
    columns = [np.asarray(label, dtype=np.uint8)[:, None] for label in labels]
    return np.concatenate([*columns, pixels.reshape(len(pixels), PIXELS)], axis=1).tobytes()


def parse_records(content: bytes, dataset: CifarDataset, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (images, 3, 32, 32) and classes (images,), both uint8; images begin where ``cifar100_reader`` says."""
    width = dataset.labels + PIXELS
    if len(content) % width:
        raise DataError(f"{name} is not whole records: {len(content)} bytes of {width}")
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
    first = dataset.labels - (dataset.cifar100_reader == "as-published")
    return np.ascontiguousarray(records[:, first : first + PIXELS]).reshape(-1, *SHAPE), records[:, dataset.labels - 1]


def read_cifar(place: Path, dataset: CifarDataset) -> dict[str, bytes]:
    """The records of every file of the data set, by its key in the configuration.

    Args:
        place: the archive for Python; or a folder with its batches or files of records, or with a folder of these, as
            torchvision's ``root``.
        dataset: the data set to read.
    """
    records: dict[str, bytes] = {}
    with unpacked(place) as folder:
        # A disk's root has a folder that nobody may read: lost+found.
        folders = [folder, *(path for path in children(folder) if path.is_dir() and os.access(path, os.X_OK))]
        for key, file in dataset.files.items():
            batch = Path(file.name).stem
            names = (file.name, batch) if batch in dataset.pickles else (file.name,)
            candidates = [path for each in folders for name in names if (path := each / name).is_file()]
            if not candidates:
                raise DataError(f"neither {place} nor a folder in it has {' or '.join(names)}")
            records[key] = right_one(candidates, partial(_records, file=file, dataset=dataset), file)
    return records


def _records(path: Path, file: StoredFile, dataset: CifarDataset) -> bytes:
    """The records in a file of records, or in a pickled batch."""
    if path.name in dataset.pickles:
        return _unpickled(beginning(path, LARGEST_FILE), path.name, dataset)
    return beginning(path, file.size + 1)


def _unpickled(content: bytes, name: str, dataset: CifarDataset) -> bytes:
    """Records of a pickled batch, which is opened only if its MD5 is known: unpickling can run code.

    No second file with the MD5 of a given one can be made.
    """
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if digest != dataset.pickles[name]:
        raise DataError(
            f"{name} was not opened, since a pickle can run code: its MD5 is {digest}, expected {dataset.pickles[name]}"
        )
    batch = pickle.loads(content, encoding="latin1")  # noqa: S301
    keys = ("labels",) if dataset.labels == 1 else ("coarse_labels", "fine_labels")
    return to_records(batch["data"], [batch[key] for key in keys])


_UNSIGNED_BYTES = 0x08
LARGEST_RANK = 4
"""Most dimensions of an array; MNIST's images have three, images in colours four."""


@dataclass(frozen=True)
class ImageSet:
    """Training and test images of one data set."""

    train_images: np.ndarray  # uint8, shape (images, channels, height, width), channels red, green, blue
    train_labels: np.ndarray  # uint8, shape (images,)
    test_images: np.ndarray  # as ``train_images``
    test_labels: np.ndarray  # as ``train_labels``
    classes: int  # number of them


def refuse_black(images: np.ndarray, name: str) -> None:
    """Refuse images, shape (samples, …), of which one is all zero: where each gets norm 1, it would be NaN.

    Args:
        images: those that are scaled.
        name: the data set's.
    """
    if not images.reshape(len(images), -1).any(axis=1).all():
        raise DataError(f"{name} has a black image, which has no direction")


def read_image_set(dataset: Dataset, folder: Path) -> ImageSet:
    """A fetched data set; images of IDX files without channels have one, and class folders are :func:`dealt`."""
    if isinstance(dataset, CifarDataset):
        train = _cifar(dataset, folder, [key for key in dataset.files if key != "test"])
        test = _cifar(dataset, folder, ["test"])
    else:
        arrays = [parse_idx(dataset.files[key].stored_in(folder), key) for key in FILES]
        train, test = (
            (images[:, None] if images.ndim == 3 else images, labels) for images, labels in (arrays[:2], arrays[2:])
        )
    for images, labels in (train, test):
        if images.ndim != 4 or labels.shape != images.shape[:1]:
            raise DataError(f"{dataset.name} has images of shape {images.shape!s} and labels of shape {labels.shape!s}")
        if labels.max() >= dataset.classes:
            remedy = f"set classes in config/dataset/{dataset.name}.yaml"
            raise DataError(f"{dataset.name} has labels up to {labels.max()}, but {dataset.classes} classes; {remedy}")
    if isinstance(dataset, ImageFolderDataset):
        train, test = ((images[order], labels[order]) for images, labels in (train, test) for order in [dealt(labels)])
    return ImageSet(*train, *test, dataset.classes)


def dealt(labels: np.ndarray) -> np.ndarray:
    """The order that takes one image of each class in turn: the first thousand, or a half, have all classes alike.

    Args:
        labels: shape (images,).

    >>> dealt(np.array([0, 0, 0, 1, 1]))
    array([0, 3, 1, 4, 2])
    """
    turn = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        turn[labels == label] = np.arange(np.sum(labels == label))
    return np.lexsort((labels, turn))


def _cifar(dataset: CifarDataset, folder: Path, keys: list[str]) -> tuple[np.ndarray, np.ndarray]:
    batches = [parse_records(dataset.files[key].stored_in(folder), dataset, key) for key in keys]
    images, labels = zip(*batches, strict=True)
    return np.concatenate(images), np.concatenate(labels)


def parse_idx(content: bytes, name: str) -> np.ndarray:
    """Read an IDX file of unsigned bytes.

    Args:
        content: bytes of the file.
        name: name of the file, for errors.

    Returns:
        A read-only array of dtype uint8 with the header's shape.
    """
    first, shape = parse_header(content, name)
    if len(content) != first + math.prod(shape):
        raise DataError(
            f"{name} has {len(content)} bytes, but its IDX header {shape!s} means {first + math.prod(shape)}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=first).reshape(shape)


def parse_header(content: bytes, name: str) -> tuple[int, tuple[int, ...]]:
    """The number of bytes of an IDX file's header, and the shape that it states; raises as :func:`parse_idx`."""
    rank = content[3] if len(content) > 3 else 0
    first = 4 + 4 * rank
    if content[:3] != bytes((0, 0, _UNSIGNED_BYTES)) or len(content) < first:
        raise DataError(f"{name} is not an IDX file of unsigned bytes")
    shape = struct.unpack(f">{rank}I", content[4:first])
    if not 1 <= rank <= LARGEST_RANK or 0 in shape:
        raise DataError(
            f"{name} has the shape {shape[:8]!s} by its IDX header; allowed: 1 to {LARGEST_RANK} sizes, none of them 0"
        )
    return first, shape


def to_idx(array: np.ndarray) -> bytes:
    """The IDX file of an array of unsigned bytes, the inverse of :func:`parse_idx`.

    >>> to_idx(np.array([7, 9], dtype=np.uint8)).hex()
    '00000801000000020709'
    """
    header = struct.pack(f">HBB{array.ndim}I", 0, _UNSIGNED_BYTES, array.ndim, *array.shape)
    return header + np.ascontiguousarray(array, dtype=np.uint8).tobytes()
