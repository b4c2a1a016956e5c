"""Hessians at the initial point of every network and depth."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from resaudit.paper import Coordinates, Data, Job, Whiten, at, needed
from residual.demystifying_resnet.experiments.networks import LinearNetworks
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.networks.ensemble import Ensemble

if TYPE_CHECKING:
    from residual.demystifying_resnet.experiments.results import TrainingResults

DENSE_UP_TO = 200
"""Up to this many parameters, all eigenvalues are computed: counts would not be faster."""

Precision = Literal["float64", "float32"]
"""Floating-point type of Hessians and eigenvalues."""
HessianMethod = Literal["counts", "dense"]
"""How statistics of a Hessian's spectrum are computed; both methods are exact up to rounding.

``counts``: numbers of eigenvalues below bounds, in time linear in the depth. ``dense``: all eigenvalues, in time cubic
in the depth; always used for single precision and for small Hessians.
"""


class InitialSpectra(LinearNetworks, name="initial_spectra"):
    """Hessians at the initial point.

    Attributes:
        hessian_precision: floating-point type of Hessians and eigenvalues.
        hessian_method: how they are computed.
    """

    hessian_precision: Precision = "float64"
    hessian_method: HessianMethod = "counts"

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """Hessians by ``network`` and ``depth``."""
        data = needed(data)
        return {
            at(network=name, depth=depth): hessians_job(
                data, self.ensemble(name, depth, data.components, seed), self.hessian_precision, self.hessian_method
            )
            for name, depth in self.places()
        }

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "TrainingResults":
        """The spectra, and the moments of the data."""
        from residual.demystifying_resnet.experiments.results import read_training

        return read_training(jobs, results)


def hessians_job(
    data: Whiten, ensemble: Ensemble, precision: str, method: str, training: Train | None = None
) -> Hessians:
    """The Hessians of linear networks; counts only in double precision and above :data:`DENSE_UP_TO` parameters."""
    countable = precision == "float64" and ensemble.network.parameters > DENSE_UP_TO
    return Hessians(data, ensemble, precision, method if countable else "dense", training)
