"""CIFAR's records: read from any copy of the archives, and accepted by the digests of the records alone.

A record is one label byte (CIFAR-100: two, coarse and fine), then 1024 red, 1024 green and 1024 blue bytes of an image
of 32 x 32 pixels, row by row (https://www.cs.toronto.edu/~kriz/cifar.html).
"""

import hashlib
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from resaudit.base.errors import ResauditError
from resaudit.data.containers import Name, Refused, archives_in, files_in, is_image, names_in
from resaudit.data.dataset import CifarDataset

SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32


def to_records(pixels: np.ndarray, labels: Sequence[np.ndarray]) -> bytes:
    r"""The records of images.

    Args:
        pixels: uint8, shape (images, 3072) or (images, 3, 32, 32).
        labels: the one or two labels of each image, each of shape (images,).

    >>> to_records(np.zeros((1, 3072), np.uint8), [np.array([19]), np.array([29])])[:3]
    b'\x13\x1d\x00'
    """
    columns = [np.asarray(label, dtype=np.uint8)[:, None] for label in labels]
    return np.concatenate([*columns, pixels.reshape(len(pixels), PIXELS)], axis=1).tobytes()


def parse_records(content: bytes, dataset: CifarDataset, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (images, 3, 32, 32) and classes (images,), both uint8; images begin where ``cifar100_reader`` says.

    Raises:
        ResauditError: the bytes are not whole records.
    """
    width = dataset.labels + PIXELS
    if len(content) % width:
        raise ResauditError(f"{what} has {len(content)} bytes, which are not whole records of {width}")
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, width)
    first = dataset.labels - (dataset.cifar100_reader == "as-published")
    return np.ascontiguousarray(records[:, first : first + PIXELS]).reshape(-1, *SHAPE), records[:, dataset.labels - 1]


def read_cifar(place: Path, dataset: CifarDataset) -> dict[str, bytes]:
    """The records of every file of the data set, by its key in the configuration.

    Files are recognised by their content, so batches with interchanged names are put in order. A pickle is opened only
    if its MD5 is known: no second file with the MD5 of a given one can be made.

    Args:
        place: a folder with the archive for Python or the binary one, or with what either unpacks to; or an archive.
        dataset: what is wanted.

    Raises:
        Refused: it has not all of them.
    """
    refusals = []
    for each in [place, *archives_in(place)] if place.is_dir() else [place]:
        try:
            return _read(each, dataset)
        except Refused as refusal:
            refusals.append(str(refusal))
    # What is said of the folder matters only if it has some of the files, or no archive.
    raise Refused("; ".join([said for said in refusals if _NOTHING not in said] or refusals[:1]))


_NOTHING = "holds no file of"


def _read(place: Path, dataset: CifarDataset) -> dict[str, bytes]:
    known = {file.digest: key for key, file in dataset.files.items()}
    names = {file.name for file in dataset.files.values()} | set(dataset.pickles)
    found: dict[str, bytes] = {}
    wrong: list[str] = []
    for name, content in files_in(place, lambda name: name.name in names):
        try:
            records = _unpickled(name.name, content, dataset) if name.name in dataset.pickles else content
        except Refused as refusal:
            wrong.append(str(refusal))
            continue
        digest = next(iter(dataset.files.values())).digest_of(records)
        if digest in known:
            found[known[digest]] = records
        else:
            wrong.append(f"{name.name} is another file (SHA-1 {digest}, {len(records)} bytes)")
    missing = [file.name for key, file in dataset.files.items() if key not in found]
    if not missing:
        return {key: found[key] for key in dataset.files}
    if found or wrong:
        raise Refused("; ".join([f"{place} lacks {', '.join(missing)} of {dataset.title}", *wrong]))
    raise Refused(_without_records(place, dataset))


def _without_records(place: Path, dataset: CifarDataset) -> str:
    image = next(filter(is_image, names_in(place)), None)
    if image is None:
        return f"{place} {_NOTHING} {dataset.title}, neither batches nor .bin files"
    return (
        f"{place} holds images ({image}), not {dataset.title}'s records: {_lost(image)}; use a data set of format "
        "image_folder, as dataset=cifar10_jpeg"
    )


def _lost(image: Name) -> str:
    if image.suffix.lower() in (".jpg", ".jpeg"):
        return "JPEG has changed their pixels, and their order is lost"
    return "their order is lost"


def _unpickled(name: str, content: bytes, dataset: CifarDataset) -> bytes:
    """Records of a pickled batch, which is opened only if its MD5 is known: unpickling can run code."""
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if found not in dataset.pickles.values():
        expected = dataset.pickles[name]
        raise Refused(f"{name} was not opened, since a pickle can run code: its MD5 is {found}, expected {expected}")
    batch = pickle.loads(content, encoding="latin1")  # noqa: S301
    keys = ("labels",) if dataset.labels == 1 else ("coarse_labels", "fine_labels")
    return to_records(batch["data"], [batch[key] for key in keys])
