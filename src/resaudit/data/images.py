"""Labelled images in memory."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ImageSet:
    """Training and test images of one data set."""

    train_images: np.ndarray  # uint8, shape (images, channels, height, width), channels red, green, blue
    train_labels: np.ndarray  # uint8, shape (images,)
    test_images: np.ndarray  # as ``train_images``
    test_labels: np.ndarray  # as ``train_labels``
    classes: int  # number of them
