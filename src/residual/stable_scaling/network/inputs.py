"""Inputs and targets of networks at initialisation, of each run its own."""

from collections.abc import Sequence

import numpy as np

from residual.stable_scaling.network.setting import INPUTS, Samples, streams

CLASSES = 10
Images = tuple[np.ndarray, np.ndarray]
"""Images (samples, height, width) and labels (samples,), unsigned bytes."""


def inputs_of(samples: Samples, images: Images | None, seed: int, runs: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in columns, shape (runs, dimension, n), and one-hot targets, shape (runs, classes, n); float64.

    Targets are the images' labels, random for inputs on the sphere.
    """
    typical = _root_mean_square(images[0]) if images and samples.norm == "mean" else 1.0
    pairs = [_of_run(samples, images, typical, rng) for rng in streams(seed, INPUTS, runs)]
    inputs, labels = (np.stack(part) for part in zip(*pairs, strict=True))
    return inputs, np.moveaxis(np.eye(CLASSES)[labels], -1, -2)


def _of_run(
    samples: Samples, images: Images | None, typical: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    if images is None:
        points = rng.standard_normal((samples.dimension, samples.count))
        return points / np.linalg.norm(points, axis=0), rng.integers(0, CLASSES, samples.count)
    pixels, labels = images
    chosen = rng.choice(len(pixels), samples.count, replace=False)
    columns = pixels[chosen].reshape(samples.count, -1).T / 255
    scale = np.linalg.norm(columns, axis=0) if samples.norm == "each" else typical
    return columns / scale, labels[chosen]


def _root_mean_square(images: np.ndarray) -> float:
    """Of the norms of all images, as pixels from 0 to 1; sums of integers, exact in any order."""
    squares = np.arange(256, dtype=np.int64) ** 2
    total = sum(int(np.bincount(image.ravel(), minlength=256) @ squares) for image in images)
    return float((total / len(images)) ** 0.5 / 255)
