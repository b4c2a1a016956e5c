"""Reading results back, each only if the settings beside it are the ones that were asked for."""

import json
from pathlib import Path
from typing import Any

from resaudit.arrays import load_arrays
from resaudit.curvature.spectra import Spectra
from resaudit.datasets.moments import Moments
from resaudit.datasets.whitening import Whitened
from resaudit.errors import ResauditError
from resaudit.files import Layout, read_json, sha256_of
from resaudit.plan import Ensemble, FigurePlan, Hessians, Verification, WhitenedData
from resaudit.theory.records import RECORDS, Record
from resaudit.training.trajectory import Trajectory


def load_moments(layout: Layout, data: WhitenedData) -> Moments:
    """The moments of whitened data.

    Raises:
        ResauditError: they are missing, damaged, or of other settings.
    """
    folder = layout.whitened(data.id)
    _check_settings(folder, data.settings)
    return load_arrays(_as_written(folder, "moments.npz"), Moments)


def load_trajectory(layout: Layout, ensemble: Ensemble, with_snapshots: bool = False) -> Trajectory:
    """What an ensemble's training recorded; its weights only where they are wanted.

    Raises:
        ResauditError: it is missing, damaged, or of other settings.
    """
    folder = layout.training(ensemble.id)
    _check_settings(folder, ensemble.settings)
    return load_arrays(_as_written(folder, "trajectory.npz"), Trajectory, () if with_snapshots else ("snapshots",))


def load_spectra(layout: Layout, hessians: Hessians) -> Spectra:
    """The spectra of Hessians.

    Raises:
        ResauditError: they are missing, damaged, or of other settings.
    """
    folder = layout.curvature(hessians.id)
    _check_settings(folder, hessians.settings)
    return load_arrays(_as_written(folder, "spectra.npz"), Spectra)


def load_whitened(layout: Layout, data: WhitenedData) -> Whitened:
    """Whitened samples with their labels.

    Raises:
        ResauditError: they are missing, damaged, or of other settings.
    """
    folder = layout.whitened(data.id)
    _check_settings(folder, data.settings)
    return load_arrays(_as_written(folder, "samples.npz"), Whitened)


def load_measurements(layout: Layout, verification: Verification) -> Record:
    """What the check of a theorem measured.

    Raises:
        ResauditError: it is missing, damaged, or of other settings.
    """
    folder = layout.theory(verification.id)
    _check_settings(folder, verification.settings)
    kind: type[Record] = RECORDS[verification.experiment]
    return load_arrays(_as_written(folder, "measurements.npz"), kind)


def job_folders(layout: Layout, part: FigurePlan) -> list[Path]:
    """The folders of all jobs whose results a figure shows: trainings, Hessians, a theorem's check."""
    folders = [layout.training(e.id) for e in part.ensembles if e.epochs]
    folders += [layout.curvature(h.id) for h in part.hessians.values()]
    return folders + ([layout.theory(part.verification.id)] if part.verification else [])


def machine_classes(layout: Layout, part: FigurePlan) -> list[dict[str, Any]]:
    """The classes of machine that a figure's results were computed on, each once; the results must be readable."""
    found: list[dict[str, Any]] = []
    for folder in job_folders(layout, part):
        computed_on = read_json(folder / "provenance.json").get("machine class")
        if computed_on is not None and computed_on not in found:
            found.append(computed_on)
    return found


def _as_written(folder: Path, name: str) -> Path:
    """A result's path, its bytes being those that the stage which made it wrote."""
    path, provenance = folder / name, folder / "provenance.json"
    try:
        written = read_json(provenance)["sha256"][name]
        found = sha256_of(path)
    except FileNotFoundError as error:
        raise ResauditError(f"{error.filename} does not exist; remove {folder} and run again") from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ResauditError(
            f"{provenance} or {path} cannot be read ({error}); remove {folder} and run again"
        ) from error
    if found != written:
        raise ResauditError(
            f"{path} is not what was computed: its SHA-256 is not that in {provenance}; remove {folder} and run again"
        )
    return path


def _check_settings(folder: Path, expected: dict[str, Any]) -> None:
    path = folder / "settings.json"
    try:
        found = read_json(path)
    except FileNotFoundError:
        raise ResauditError(f"{path} does not exist; compute it first (snakemake --cores all)") from None
    except (OSError, ValueError) as error:
        raise ResauditError(f"{path} cannot be read ({error}); remove {folder} and run again") from error
    if found != json.loads(json.dumps(expected)):
        raise ResauditError(f"{path} is not what was asked for here; remove {folder} and run again")
