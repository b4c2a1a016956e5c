"""Whitening a data set: its leading principal components, scaled to unit variance, and the moments of the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from resaudit.base.errors import ResauditError
from resaudit.data.dataset import Signs
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import CLOSE, Tolerance

if TYPE_CHECKING:
    from resaudit.data.moments import Moments
    from resaudit.data.whitening import Whitened

LARGEST_WHITENING_ERROR = 1e-12


@dataclass(frozen=True)
class Whiten(Job):
    """Whitened data.

    Attributes:
        data: the raw files.
        components: number of principal components.
        centered: whether the mean is subtracted first.
        signs: of the components.
    """

    kind: ClassVar[str] = "whiten"
    files: ClassVar[tuple[str, ...]] = ("samples.npz", "moments.npz", "summary.json")
    typical: ClassVar[Cost] = Cost(7.0, 1200.0)
    arrays: ClassVar[Mapping[str, str]] = {
        "samples.npz": "inputs[components,samples] labels:u1[samples] explained_variance[components]",
        "moments.npz": "xx[components,components] yx[components,components] trace_yy[]",
    }

    data: Fetch
    components: int
    centered: bool
    signs: Signs = "largest_positive"

    @property
    def stem(self) -> str:
        """Data set, components, centring, and signs other than the configured ones."""
        mean = "centered" if self.centered else "uncentered"
        signs = "" if self.signs == "largest_positive" else f"-{self.signs}"
        return f"{self.data.dataset.name}-pca{self.components}-{mean}{signs}"

    @property
    def known_sizes(self) -> dict[str, int]:
        """Of the whitened samples."""
        return {"components": self.components}

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        # Eigenvectors turn by eps over the gaps of the eigenvalues.
        return dict.fromkeys(("inputs", "explained_variance", "xx", "yx", "trace_yy", "summary.json"), CLOSE)

    def run(self, work: Work) -> dict[str, Any]:
        """Whiten the training images.

        Raises:
            ResauditError: raw files are missing or damaged, their rank is less than ``components``, or a label is not.
        """
        from resaudit.data.moments import moments_of
        from resaudit.data.whitening import whiten

        images, labels = self.data.training_set()
        if labels.max() >= self.components:
            raise ResauditError(f"labels go up to {labels.max()}; {self.data.dataset.name}'s classes must be more")
        whitened = whiten(images, labels, self.components, self.centered, self.signs)
        moments = moments_of(whitened.inputs, whitened.targets)
        return {"summary.json": summary(whitened, moments), "samples.npz": whitened, "moments.npz": moments}

    def read(self, results: Path) -> "Moments":
        """The moments; raises as :meth:`moments`."""
        return self.moments(results)

    def samples(self, results: Path) -> "Whitened":
        """Every sample, whitened; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        from resaudit.data.whitening import Whitened

        return read_result(self, results, "samples.npz", Whitened)

    def moments(self, results: Path) -> "Moments":
        """The moments; raises likewise."""
        from resaudit.data.moments import Moments

        return read_result(self, results, "moments.npz", Moments)


def summary(whitened: "Whitened", moments: "Moments") -> dict[str, Any]:
    """Summary statistics of whitened data.

    Raises:
        ResauditError: their second moments are not the identity.
    """
    not_white = float(np.abs(moments.xx - np.eye(len(moments.xx))).max())
    if not not_white < LARGEST_WHITENING_ERROR:
        raise ResauditError(
            f"whitening failed: the inputs' second moments are {not_white:.1e} from the identity, allowed is "
            f"{LARGEST_WHITENING_ERROR:.0e}; keep fewer components (whitening.components)"
        )
    return {
        "samples": len(whitened.labels),
        "largest difference of the second moments to the identity": not_white,
        "explained variance": whitened.explained_variance.tolist(),
        "optimal loss": moments.optimal_loss,
    }
