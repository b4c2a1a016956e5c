"""Whitening: leading principal components, scaled to unit second moment."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from resaudit.base.errors import ConfigError
from resaudit.data.dataset import Signs
from resaudit.jobs.fields import Float, Shape, Type
from resaudit.jobs.tolerance import CLOSE

SAMPLES_AT_ONCE = 10_000


@dataclass(frozen=True)
class Whitened:
    """Whitened inputs with their labels. Eigenvectors turn by eps over the gaps of the eigenvalues."""

    inputs: Annotated[Float, Shape("components", "samples"), CLOSE]  # their second-moment matrix is the identity
    labels: Annotated[np.ndarray, Type("u1"), Shape("samples")]
    # Share of the pixels' second moment that each component carries, descending.
    explained_variance: Annotated[Float, Shape("components"), CLOSE]

    @property
    def targets(self) -> np.ndarray:
        """One-hot labels, float64, shape (components, samples): networks' layers are square."""
        return np.eye(len(self.inputs))[:, self.labels]


def whiten(
    images: np.ndarray,
    labels: np.ndarray,
    components: int,
    centered: bool,
    signs: Signs = "largest_positive",
) -> Whitened:
    """Project images on their leading principal components and scale these to unit second moment.

    Demystifying ResNet, Appendix B: "Ten greatest principal components are kept". With ``centered`` the mean
    image is subtracted first and the second moment is the variance; without, components are the right singular vectors
    of the raw pixels.

    Args:
        images: uint8, shape (samples, height, width).
        labels: uint8, shape (samples,).
        components: number of components to keep.
        centered: whether the mean image is subtracted.
        signs: the rule for the signs of the components, which their definition leaves open.
    """
    pixels = images.reshape(len(images), -1)
    # Sums of integers below 2^53 are exact in any order.
    total, products = np.zeros(pixels.shape[1]), np.zeros((pixels.shape[1],) * 2)
    for chunk in _chunks(pixels):
        total += chunk.sum(axis=0)
        products += chunk.T @ chunk
    mean, second_moment = total / len(pixels), products / len(pixels)
    offset = mean if centered else np.zeros_like(mean)
    variances, axes = np.linalg.eigh(second_moment - np.outer(offset, offset))
    variances, axes = variances[::-1], axes[:, ::-1]
    if components > len(variances) or variances[components - 1] <= 1e-12 * variances[0]:
        rank = int(np.sum(variances > 1e-12 * variances[0]))
        raise ConfigError(f"whitening.components is {components}; these images allow {rank}")
    scaled = axes[:, :components] / np.sqrt(variances[:components])
    scaled *= np.sign(scaled[np.abs(scaled).argmax(axis=0), np.arange(components)])
    inputs = np.concatenate([(chunk - offset) @ scaled for chunk in _chunks(pixels)]).T
    if signs != "largest_positive":
        # Of white inputs the map is the cross moment M; |M D - I|^2 of signs D is a constant minus 2 tr(M D).
        towards = np.array([1.0 if row[labels == k].sum() >= 0 else -1.0 for k, row in enumerate(inputs)])
        inputs *= (towards if signs == "nearest" else -towards)[:, None]
    return Whitened(np.ascontiguousarray(inputs), labels, variances[:components] / variances.sum())


def _chunks(pixels: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(pixels), SAMPLES_AT_ONCE):
        yield pixels[start : start + SAMPLES_AT_ONCE].astype(np.float64)
