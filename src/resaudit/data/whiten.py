"""Whitening a data set: its leading principal components, scaled to unit variance, and the moments of the result."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np

from resaudit.base.errors import ConfigError, DataError
from resaudit.data.dataset import Signs
from resaudit.data.fetch import Fetch
from resaudit.jobs.arrays import Float, Shape, Tolerance, Type
from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result

LARGEST_WHITENING_ERROR = 1e-12
SAMPLES_AT_ONCE = 10_000


@dataclass(frozen=True)
class Whitened:
    """Whitened inputs with their labels. Eigenvectors turn by eps over the gaps of the eigenvalues."""

    # Their second-moment matrix is the identity.
    inputs: Annotated[Float, Shape("components", "samples"), Tolerance.CLOSE]
    labels: Annotated[np.ndarray, Type("u1"), Shape("samples")]
    # Share of the pixels' second moment that each component carries, descending.
    explained_variance: Annotated[Float, Shape("components"), Tolerance.CLOSE]

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


@dataclass(frozen=True)
class Moments:
    """Moments of inputs x and targets y over m samples, each (1/m) times a sum."""

    xx: Annotated[Float, Shape("components", "components"), Tolerance.CLOSE]  # sum x x^T
    yx: Annotated[Float, Shape("components", "components"), Tolerance.CLOSE]  # sum y x^T
    trace_yy: Annotated[Float, Shape(), Tolerance.CLOSE]  # sum |y|^2

    @classmethod
    def of(cls, inputs: np.ndarray, targets: np.ndarray) -> Self:
        """Moments of samples in columns: ``inputs`` (d, m) and ``targets`` (d, m)."""
        count = inputs.shape[1]
        return cls(inputs @ inputs.T / count, targets @ inputs.T / count, np.sum(targets**2) / count)

    @cached_property
    def optimal_map(self) -> np.ndarray:
        """The least-squares map P* = S_YX S_XX^-1, shape (d, d)."""
        return np.linalg.solve(self.xx, self.yx.T).T

    @cached_property
    def optimal_loss(self) -> float:
        """The least loss of any linear network: (tr S_YY - tr S_YX S_XX^-1 S_XY) / 2."""
        return 0.5 * float(self.trace_yy - np.sum(self.optimal_map * self.yx))


@dataclass(frozen=True)
class Whiten(Job):
    """Whitened data."""

    kind = "whiten"
    files = {"samples.npz": Whitened, "moments.npz": Moments, "summary.json": dict}
    typical = Cost(7.0, 1200.0)

    data: Fetch  # the raw files
    components: int  # number of principal components
    centered: bool  # whether the mean is subtracted first
    signs: Signs = "largest_positive"  # of the components

    @property
    def stem(self) -> str:
        """Data set, components, centring, and signs other than the configured ones."""
        mean = "centered" if self.centered else "uncentered"
        signs = "" if self.signs == "largest_positive" else f"-{self.signs}"
        return f"{self.data.dataset.name}-pca{self.components}-{mean}{signs}"

    def tolerances(self) -> Mapping[str, Tolerance]:
        """Tolerances of the arrays, and of the summary's numbers."""
        return {**(super().tolerances() or {}), "summary.json": Tolerance.CLOSE}

    def run(self, work: Work) -> dict[str, Any]:
        """Whiten the training images."""
        images, labels = self.data.training_set()
        if labels.max() >= self.components:
            remedy = "whitening.components must be their number"
            raise DataError(
                f"{self.data.dataset.name} has labels up to {labels.max()}, but {self.components} classes; {remedy}"
            )
        whitened = whiten(images, labels, self.components, self.centered, self.signs)
        moments = Moments.of(whitened.inputs, whitened.targets)
        return {"summary.json": summary(whitened, moments), "samples.npz": whitened, "moments.npz": moments}

    def read(self, results: Path) -> Moments:
        """The moments."""
        return self.moments(results)

    def samples(self, results: Path) -> Whitened:
        """Every sample, whitened."""
        return read_result(self, results, "samples.npz", Whitened)

    def moments(self, results: Path) -> Moments:
        """The moments; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "moments.npz", Moments)


def summary(whitened: Whitened, moments: Moments) -> dict[str, Any]:
    """Summary statistics of whitened data."""
    not_white = float(np.abs(moments.xx - np.eye(len(moments.xx))).max())
    if not not_white < LARGEST_WHITENING_ERROR:
        raise ConfigError(
            f"whitening failed: the inputs' second moments are {not_white:.1e} from the identity, allowed is "
            f"{LARGEST_WHITENING_ERROR:.0e}; keep fewer components (whitening.components)"
        )
    return {
        "samples": len(whitened.labels),
        "largest difference of the second moments to the identity": not_white,
        "explained variance": whitened.explained_variance.tolist(),
        "optimal loss": moments.optimal_loss,
    }
