"""Inputs and targets of networks at initialisation, of each run its own."""

from collections.abc import Sequence

import numpy as np

from resaudit.scaled_residual.setting import INPUTS, Samples, streams

CLASSES = 10
Images = tuple[np.ndarray, np.ndarray]
"""Images (samples, height, width) and labels (samples,), unsigned bytes."""


def inputs_of(samples: Samples, images: Images | None, seed: int, runs: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in columns, shape (runs, dimension, n), and one-hot targets, shape (runs, classes, n); float64.

    Targets are the images' labels, random for inputs on the sphere.
    """
    pairs = [_of_run(samples, images, rng) for rng in streams(seed, INPUTS, runs)]
    inputs, labels = (np.stack(part) for part in zip(*pairs, strict=True))
    return inputs, np.moveaxis(np.eye(CLASSES)[labels], -1, -2)


def _of_run(samples: Samples, images: Images | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    if images is None:
        points = rng.standard_normal((samples.dimension, samples.count))
        return points / np.linalg.norm(points, axis=0), rng.integers(0, CLASSES, samples.count)
    pixels, labels = images
    chosen = rng.choice(len(pixels), samples.count, replace=False)
    columns = pixels[chosen].reshape(samples.count, -1).T / 255
    norms = np.linalg.norm(columns, axis=0)
    scale = {"each": norms, "mean": np.sqrt(np.mean(norms**2)), "pixels": 1.0}[samples.norm]
    return columns / scale, labels[chosen]
