"""Labelled images in memory."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ImageSet:
    """Training and test images of one data set.

    Attributes:
        train_images: uint8, shape (images, channels, height, width), channels red, green, blue.
        train_labels: uint8, shape (images,).
        test_images: as ``train_images``.
        test_labels: as ``train_labels``.
        classes: number of them.
    """

    train_images: np.ndarray
    train_labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray
    classes: int
