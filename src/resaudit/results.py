"""Reading results back, each only if the settings beside it are the ones that were asked for."""

import json
from pathlib import Path
from typing import Any

from resaudit.arrays import load_arrays
from resaudit.curvature.spectra import Spectra
from resaudit.datasets.moments import Moments
from resaudit.errors import ResauditError
from resaudit.files import Layout
from resaudit.plan import Ensemble, Hessians, WhitenedData
from resaudit.training.trajectory import Trajectory


def load_moments(layout: Layout, data: WhitenedData) -> Moments:
    """The moments of whitened data.

    Raises:
        ResauditError: they are missing, damaged, or of other settings.
    """
    folder = layout.whitened(data.id)
    _check_settings(folder, data.settings)
    return load_arrays(folder / "moments.npz", Moments)


def load_trajectory(layout: Layout, ensemble: Ensemble, with_snapshots: bool = False) -> Trajectory:
    """What an ensemble's training recorded; its weights only where they are wanted.

    Raises:
        ResauditError: it is missing, damaged, or of other settings.
    """
    folder = layout.training(ensemble.id)
    _check_settings(folder, ensemble.settings)
    return load_arrays(folder / "trajectory.npz", Trajectory, () if with_snapshots else ("snapshots",))


def load_spectra(layout: Layout, hessians: Hessians) -> Spectra:
    """The spectra of Hessians.

    Raises:
        ResauditError: they are missing, damaged, or of other settings.
    """
    folder = layout.curvature(hessians.id)
    _check_settings(folder, hessians.settings)
    return load_arrays(folder / "spectra.npz", Spectra)


def _check_settings(folder: Path, expected: dict[str, Any]) -> None:
    path = folder / "settings.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ResauditError(f"{path} does not exist; compute it first (snakemake --cores all)") from None
    except (OSError, ValueError) as error:
        raise ResauditError(f"{path} cannot be read ({error}); remove {folder} and run again") from error
    if found != json.loads(json.dumps(expected)):
        raise ResauditError(f"{path} is not what was asked for here; remove {folder} and run again")
