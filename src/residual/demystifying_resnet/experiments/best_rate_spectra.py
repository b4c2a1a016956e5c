"""Training at every learning rate, then at the best ones with Hessians along the training."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from resaudit.figures.snapshots import snapshot_epochs
from resaudit.jobs.job import Job
from resaudit.plan.experiment import Coordinates, Data, at, needed
from resaudit.plan.fields import LARGEST_EPOCHS, Depth
from residual.demystifying_resnet.experiments.initial_spectra import HessianMethod, Precision, hessians_job
from residual.demystifying_resnet.experiments.networks import LinearNetworks
from residual.demystifying_resnet.experiments.rate_sweep import FOLLOWED, PerNetwork, RateSweep
from residual.demystifying_resnet.jobs.train import Train

if TYPE_CHECKING:
    from residual.demystifying_resnet.experiments.results import TrainingResults

NegativeEigenvalues = Literal["beyond_noise", "every", "sizeable"]
"""The eigenvalues that the index counts: below minus the noise floor, below zero, or below minus a hundredth of the
largest absolute eigenvalue."""


class BestRateSpectra(RateSweep, LinearNetworks, name="best_rate_spectra"):
    """A sweep of learning rates, and Hessians along the training at those tied for the best, at one depth.

    Attributes:
        hessian_epochs: number of epochs with a Hessian, evenly spaced on a logarithmic scale; null: all.
        hessian_precision: floating-point type of Hessians and eigenvalues.
        hessian_method: how they are computed.
        negative_eigenvalues: which eigenvalues count for the index.
    """

    of_table: ClassVar[tuple[str, ...]] = ("rate", "negative_eigenvalues")

    depths: Annotated[list[Depth], Field(min_length=1, max_length=1)]
    per_network: Annotated[list[PerNetwork], Field(max_length=0)] = []
    hessian_epochs: Annotated[int, Field(ge=2, le=LARGEST_EPOCHS)] | None = None
    hessian_precision: Precision = "float64"
    hessian_method: HessianMethod = "counts"
    negative_eigenvalues: NegativeEigenvalues = "beyond_noise"

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """For each ``network`` and ``depth`` the parts ``sweep``, ``followed`` training and its ``hessians``."""
        data = needed(data)
        epochs, jobs = snapshot_epochs(self.epochs, self.hessian_epochs), dict[Coordinates, Job]()
        for (name, depth), sweep in self.sweeps(data, seed).items():
            followed = Train(data, sweep.ensemble, self.epochs, (), sweep, FOLLOWED[self.rate], epochs)
            hessians = hessians_job(data, sweep.ensemble, self.hessian_precision, self.hessian_method, followed)
            for part, job in (("sweep", sweep), ("followed", followed), ("hessians", hessians)):
                jobs[at(part=part, network=name, depth=depth)] = job
        return jobs

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "TrainingResults":
        """Trajectories, spectra and best rates."""
        from residual.demystifying_resnet.experiments.results import read_training

        return read_training(jobs, results, FOLLOWED[self.rate], self.negative_eigenvalues)
