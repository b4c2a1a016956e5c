"""Whitening a data set: its leading principal components, scaled to unit variance, and the moments of the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.base.errors import ConfigError, DataError
from resaudit.data.dataset import Signs
from resaudit.data.fetch import Fetch
from resaudit.data.moments import Moments, moments_of
from resaudit.data.whitening import Whitened, whiten
from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import CLOSE, Tolerance

LARGEST_WHITENING_ERROR = 1e-12


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
        return {**(super().tolerances() or {}), "summary.json": CLOSE}

    def run(self, work: Work) -> dict[str, Any]:
        """Whiten the training images."""
        images, labels = self.data.training_set()
        if labels.max() >= self.components:
            remedy = "whitening.components must be their number"
            raise DataError(
                f"{self.data.dataset.name} has labels up to {labels.max()}, but {self.components} classes; {remedy}"
            )
        whitened = whiten(images, labels, self.components, self.centered, self.signs)
        moments = moments_of(whitened.inputs, whitened.targets)
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
