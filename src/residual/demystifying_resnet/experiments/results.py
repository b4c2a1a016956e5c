"""Results of trained or initialized networks, by network name and depth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from resaudit.data.moments import Moments
from resaudit.figures.rates import BestRate
from resaudit.jobs.job import Job
from resaudit.plan.experiment import Coordinates
from resaudit.plan.fields import Key
from residual.demystifying_resnet.curvature.spectra import Spectra
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.training.rates import choice_of, followed_rates
from residual.demystifying_resnet.training.trajectory import Trajectory


@dataclass(frozen=True)
class TrainingResults:
    """Results of a figure's trainings and Hessians."""

    sweeps: Mapping[Key, Trajectory] = field(default_factory=dict)  # trainings at every learning rate
    followed: Mapping[Key, Trajectory] = field(default_factory=dict)  # at one or some of these rates, with snapshots
    # At the snapshots of ``followed``, or at the initial point; shape (snapshots, runs).
    spectra: Mapping[Key, Spectra] = field(default_factory=dict)
    rates: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)  # those followed, the shown one first
    best: Mapping[Key, BestRate] = field(default_factory=dict)  # of each sweep
    eigenvalues: Mapping[Key, int] = field(default_factory=dict)  # number of eigenvalues of each Hessian
    moments: Moments | None = None  # of the data, if Hessians were computed
    negative_eigenvalues: str = "beyond_noise"  # those that the index counts


def read_training(
    jobs: Mapping[Coordinates, Job], results: Path, followed: str = "tied_for_best", negative: str = "beyond_noise"
) -> TrainingResults:
    """Read the results of trainings and Hessians.

    Args:
        jobs: trainings and Hessians, by coordinates with ``network`` and ``depth``.
        results: folder of all results.
        followed: a choice of :func:`residual.demystifying_resnet.training.rates.followed_rates`.
        negative: the eigenvalues that the index counts.
    """
    by_coordinates = [(dict(coordinates), job) for coordinates, job in jobs.items()]
    by_key = [((at["network"], at["depth"]), job) for at, job in by_coordinates]
    sweeps = {key: job.read(results) for key, job in by_key if isinstance(job, Train) and job.sweep is None}
    hessians = {key: job for key, job in by_key if isinstance(job, Hessians)}
    return TrainingResults(
        sweeps=sweeps,
        rates={key: followed_rates(sweep, followed) for key, sweep in sweeps.items()},
        best={key: choice_of(sweep) for key, sweep in sweeps.items()},
        eigenvalues={key: job.ensemble.network.parameters for key, job in hessians.items()},
        followed={key: job.training.read(results) for key, job in hessians.items() if job.training},
        spectra={key: job.read(results) for key, job in hessians.items()},
        moments=next((job.data.moments(results) for job in hessians.values()), None),
        negative_eigenvalues=negative,
    )
