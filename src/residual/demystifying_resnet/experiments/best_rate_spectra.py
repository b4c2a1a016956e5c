"""Training at every learning rate, then fresh runs at the best ones with Hessians."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from resaudit.paper import (
    LARGEST_EPOCHS,
    Confirmation,
    Coordinates,
    Data,
    Depth,
    Job,
    Product,
    Runs,
    at,
    blocks_from,
    needed,
    recorded_epochs,
    runs_of,
    snapshot_epochs,
)
from residual.demystifying_resnet.experiments.initial_spectra import HessianMethod, Precision, hessians_job
from residual.demystifying_resnet.experiments.networks import LinearNetworks
from residual.demystifying_resnet.experiments.rate_sweep import FOLLOWED, PerNetwork, RateSweep
from residual.demystifying_resnet.jobs.hessians import Hessians

if TYPE_CHECKING:
    import pandas as pd

    from residual.demystifying_resnet.experiments.results import TrainingResults

NegativeEigenvalues = Literal["beyond_noise", "every", "sizeable"]
"""The eigenvalues that the index counts: below minus the noise floor, below zero, or below minus a hundredth of the
largest absolute eigenvalue."""


ALONG_BLOCK = 10
"""Fresh runs with Hessians along the training of one job: more of them recompute none."""


class SpectraConfirmation(Confirmation):
    """Fresh runs with Hessians at the learning rates that the screening leaves.

    Attributes:
        along: number of fresh runs, the first ones, with Hessians along the training; the others have one at the last
            epoch.
    """

    along: Runs

    def blocks(self, screened: int) -> list[tuple[int, int]]:
        """The first run and the number of runs of each job; the first jobs have the runs with the whole training.

        >>> SpectraConfirmation(runs=70, along=10).blocks(10)
        [(10, 10), (20, 50), (70, 10)]
        >>> SpectraConfirmation(runs=70, along=12).blocks(10)
        [(10, 10), (20, 2), (22, 50), (72, 8)]
        """
        along = blocks_from(screened, self.along, ALONG_BLOCK)
        return [*along, *blocks_from(screened + self.along, self.runs - self.along)]

    @model_validator(mode="after")
    def _along_are_some_of_them(self) -> Self:
        if self.along > self.runs:
            raise ValueError(f"has along {self.along}; allowed: up to {self.runs}, its number of runs")
        return self


class BestRateSpectra(RateSweep, LinearNetworks, name="best_rate_spectra"):
    """A sweep of learning rates, and fresh runs with Hessians at those tied for the best, at one depth.

    Attributes:
        confirm: the fresh runs.
        hessian_epochs: number of epochs with a Hessian, evenly spaced on a logarithmic scale; null: all.
        hessian_precision: floating-point type of Hessians and eigenvalues.
        hessian_method: how they are computed.
        negative_eigenvalues: which eigenvalues count for the index.
    """

    of_table: ClassVar[tuple[str, ...]] = ("rate", "negative_eigenvalues")

    depths: Annotated[list[Depth], Field(min_length=1, max_length=1)]
    per_network: Annotated[list[PerNetwork], Field(max_length=0)] = []
    confirm: SpectraConfirmation
    hessian_epochs: Annotated[int, Field(ge=2, le=LARGEST_EPOCHS)] | None = None
    hessian_precision: Precision = "float64"
    hessian_method: HessianMethod = "counts"
    negative_eigenvalues: NegativeEigenvalues = "beyond_noise"

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """The ``sweep`` of each ``network`` and ``depth``; of each block a ``confirmation`` and its ``hessians``.

        A block is named by its ``first`` run.
        """
        data, jobs = needed(data), dict[Coordinates, Job]()
        for (name, depth), sweep in self.sweeps(data, seed).items():
            place = {"network": name, "depth": depth}
            jobs[at(part="sweep", **place)] = sweep
            for first, runs in self.confirm.blocks(sweep.ensemble.runs):
                along = first < sweep.ensemble.runs + self.confirm.along
                epochs = snapshot_epochs(self.epochs, self.hessian_epochs) if along else (self.epochs,)
                fresh = self.block(sweep, first, runs, epochs)
                hessians = hessians_job(data, fresh.ensemble, self.hessian_precision, self.hessian_method, fresh)
                for part, job in (("confirmation", fresh), ("hessians", hessians)):
                    jobs[at(part=part, first=first, **place)] = job
        return jobs

    def with_runs(self, read: int, wanted: int) -> dict[str, int]:
        """Effects on no more runs than have Hessians along the training rest on these."""
        if read > self.confirm.along:
            return {"confirm.runs": wanted}
        return {"confirm.along": wanted, "confirm.runs": max(wanted, self.confirm.runs)}

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """The fresh runs of each network at the epochs that have Hessians: those of the screening have none."""
        places, present = dict[Coordinates, list[Product]](), set(table["epoch"])
        for where, job in jobs.items():
            if isinstance(job, Hessians) and job.training:
                rows = {"run": runs_of(job), "epoch": recorded_epochs(job.training.snapshot_epochs, present)}
                places.setdefault(at(network=dict(where)["network"]), []).append(rows)
        return places

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "TrainingResults":
        """Trajectories, spectra and best rates."""
        from residual.demystifying_resnet.experiments.results import read_training

        return read_training(jobs, results, FOLLOWED[self.rate], self.negative_eigenvalues)
