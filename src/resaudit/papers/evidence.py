"""The results that a figure's table is made from, by network name and depth."""

from collections.abc import Mapping
from dataclasses import dataclass

from resaudit.curvature.spectra import Spectra
from resaudit.files import Layout
from resaudit.plan import FigurePlan
from resaudit.results import load_measurements, load_spectra, load_trajectory
from resaudit.theory.records import Record
from resaudit.training.trajectory import Trajectory

Key = tuple[str, int]
"""Network name and depth."""


@dataclass(frozen=True)
class Evidence:
    """What was computed for a figure.

    Attributes:
        sweeps: training at every learning rate.
        followed: training at the best rate of the sweep, with snapshots.
        spectra: at the snapshots of ``followed``, or at the initial point, shape (snapshots, runs).
        measured: what the check of a theorem measured, where the figure is about one.
    """

    sweeps: Mapping[Key, Trajectory]
    followed: Mapping[Key, Trajectory]
    spectra: Mapping[Key, Spectra]
    measured: Record | None = None


def gather(plan: FigurePlan, layout: Layout) -> Evidence:
    """Read a figure's results.

    Raises:
        ResauditError: one is missing, damaged or of other settings.
    """
    return Evidence(
        sweeps={key: load_trajectory(layout, ensemble) for key, ensemble in plan.sweeps.items()},
        followed={key: load_trajectory(layout, e) for key, e in plan.with_spectra.items() if e.epochs},
        spectra={key: load_spectra(layout, ensemble) for key, ensemble in plan.with_spectra.items()},
        measured=load_measurements(layout, plan.verification) if plan.verification else None,
    )
