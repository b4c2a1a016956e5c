"""CIFAR's records: read from the batches for Python, and accepted by the digests of the records alone.

Not by torchvision's reader, which drops CIFAR-100's coarse labels and, with them, the published records.

A record is one label byte (CIFAR-100: two, coarse and fine), then 1024 red, 1024 green and 1024 blue bytes of an image
of 32 x 32 pixels, row by row (https://www.cs.toronto.edu/~kriz/cifar.html).
"""

import hashlib
import os
import pickle
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from resaudit.base.errors import DataError
from resaudit.data.dataset import LARGEST_FILE, CifarDataset, StoredFile
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
