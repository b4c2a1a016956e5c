"""Records of trainings on images that were never run, with curves of known ends."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from resaudit.base.files import sha256_of, write_json
from resaudit.jobs.job import Job
from resaudit.jobs.results import save_arrays
from residual.images.jobs import TrainImages
from residual.images.schedule import Records
from tests.ran import RAN

IMAGES = 50_000


def made(job: TrainImages, error: Callable[[TrainImages], float], spread: float = 0.02) -> Records:
    """Records whose test errors fall from 90 % to a share that a function of the job gives; inf: it diverges.

    Args:
        job: gives runs, evaluations and length.
        error: test error at the end as a share of 1.
        spread: relative standard deviation of the runs.
    """
    recipe, runs, end = job.recipe, np.array(job.runs), error(job)
    per_epoch = -(-(job.samples or IMAGES) // recipe.batch)
    steps = recipe.length * (per_epoch if recipe.unit == "epochs" else 1)
    count = recipe.evaluations or recipe.length
    step = np.rint(np.linspace(0, steps, count + 1)).astype(int)
    drawn = np.random.default_rng([job.seed, *job.id.encode()])
    ends = (0.5 if np.isinf(end) else end) * np.exp(spread * drawn.standard_normal((len(runs), 1)))
    falling = np.exp(-8 * step / steps)
    errors = ends + (0.9 - ends) * falling
    errors = np.clip(errors + 0.01 * errors * drawn.standard_normal(errors.shape), 0, 1)
    losses = 2.5 * errors
    norms = (2 + np.arange(5)) * (1 + step / steps)[:, None] / np.sqrt(getattr(job.network, "depth", 55))
    norms = norms * (1 + 0.01 * drawn.standard_normal((len(runs), 1, 1)))
    if np.isinf(end):
        errors[:, 1:], losses[:, 1:], norms[:, 1:] = 1.0, np.inf, np.inf
    unknown = np.where(step == 0, np.nan, 1.0)
    return Records(
        run=runs,
        step=step,
        epoch=step / per_epoch,
        learning_rate=np.full(len(step), recipe.learning_rate),
        train_loss=losses * unknown,
        train_error=0.8 * errors * unknown,
        test_loss=losses,
        test_error=errors,
        test_error_halves=np.stack([errors, 0.98 * errors], axis=2),
        norms=norms,
        weights=np.array([f"layer{k}.weight" for k in range(norms.shape[2])]),
    )


def write(job: Job, records: Records, results: Path) -> None:
    """Write records as the results of a job."""
    folder = job.folder(results)
    folder.mkdir(parents=True, exist_ok=True)
    save_arrays(folder / "records.npz", records)
    write_json(folder / "settings.json", job.identity)
    digest = {"records.npz": sha256_of(folder / "records.npz")}
    write_json(folder / "provenance.json", RAN | {"sha256": digest})
