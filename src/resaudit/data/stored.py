"""Reading fetched data sets: stored files to arrays, after a check of their digests."""

from pathlib import Path

import numpy as np

from resaudit.base.errors import DataError
from resaudit.data.cifar import parse_records
from resaudit.data.dataset import FILES, CifarDataset, Dataset, ImageFolderDataset
from resaudit.data.idx import parse_idx
from resaudit.data.images import ImageSet
from resaudit.data.sources import read_verified


def read_image_set(dataset: Dataset, folder: Path) -> ImageSet:
    """A fetched data set; images of IDX files without channels have one, and class folders are :func:`dealt`."""
    if isinstance(dataset, CifarDataset):
        train = _cifar(dataset, folder, [key for key in dataset.files if key != "test"])
        test = _cifar(dataset, folder, ["test"])
    else:
        arrays = [parse_idx(read_verified(folder, dataset.files[key]), key) for key in FILES]
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
    batches = [parse_records(read_verified(folder, dataset.files[key]), dataset, key) for key in keys]
    images, labels = zip(*batches, strict=True)
    return np.concatenate(images), np.concatenate(labels)
