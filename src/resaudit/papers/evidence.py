"""The results that a figure's table is made from, by network name and depth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from resaudit.config.models import Protocol
from resaudit.curvature.spectra import Spectra
from resaudit.datasets.moments import Moments
from resaudit.plan.plan import FOLLOWED, FigurePlan
from resaudit.theory.records import Record
from resaudit.training.rates import BestRate, choice_of, followed_rates
from resaudit.training.trajectory import Trajectory

Key = tuple[str, int]
"""Network name and depth."""


@dataclass(frozen=True)
class Evidence:
    """What was computed for a figure.

    Attributes:
        sweeps: training at every learning rate.
        followed: training at one of these rates, with snapshots.
        spectra: at the snapshots of ``followed``, or at the initial point, shape (snapshots, runs).
        rates: those that each network's training is looked at with, the shown one first.
        best: what each sweep says of its best rate.
        eigenvalues: of each Hessian, as many as parameters.
        protocol: the settings of the figure's experiment.
        moments: of the data.
        measured: what the check of a theorem measured, where the figure is about one.
    """

    sweeps: Mapping[Key, Trajectory] = field(default_factory=dict)
    followed: Mapping[Key, Trajectory] = field(default_factory=dict)
    spectra: Mapping[Key, Spectra] = field(default_factory=dict)
    rates: Mapping[Key, tuple[float, ...]] = field(default_factory=dict)
    best: Mapping[Key, BestRate] = field(default_factory=dict)
    eigenvalues: Mapping[Key, int] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    moments: Moments | None = None
    measured: Record | None = None


def gather(plan: FigurePlan, results: Path) -> Evidence:
    """Read a figure's results, and the moments of the data where it is about Hessians.

    Raises:
        ResauditError: one is missing, damaged or of other settings.
    """
    sweeps = {key: job.trajectory(results) for key, job in plan.sweeps.items()}
    choice = FOLLOWED[plan.figure.protocol.rate]
    return Evidence(
        protocol=plan.figure.protocol,
        sweeps=sweeps,
        rates={key: followed_rates(sweep, choice) for key, sweep in sweeps.items()},
        best={key: choice_of(sweep) for key, sweep in sweeps.items()},
        eigenvalues={key: job.ensemble.network.parameters for key, job in plan.hessians.items()},
        followed={key: job.training.trajectory(results) for key, job in plan.hessians.items() if job.training},
        spectra={key: job.spectra(results) for key, job in plan.hessians.items()},
        moments=plan.data.moments(results) if plan.hessians else None,
        measured=plan.theorem.measurements(results) if plan.theorem else None,
    )
