"""Labelled images in memory."""

from dataclasses import dataclass

import numpy as np

from resaudit.base.errors import DataError


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
