"""What a training on images begins with, and what is recorded at its end."""

from collections.abc import Sequence

import numpy as np
import torch

from resaudit.base.errors import ResauditError
from resaudit.data.images import ImageSet
from residual.images.augmentation import Images, normalisation_of
from residual.images.records import Records
from residual.images.schedule import Schedule
from residual.images.trainee import OnDevice, RunState


def load(images: ImageSet, augmentation: str, published: bool, device: torch.device) -> OnDevice:
    """Put a data set on a device.

    Args:
        images: in memory.
        augmentation: of the recipe.
        published: whether to normalise with the constants of the recipe's code, which are CIFAR-10's.
        device: of the training.
    """
    constants = normalisation_of(augmentation, images.train_images, published)
    parts = (Images(part, augmentation, constants, device) for part in (images.train_images, images.test_images))
    labels = (torch.from_numpy(part.astype(np.int64)).to(device) for part in (images.train_labels, images.test_labels))
    (train, test), (train_labels, test_labels) = parts, labels
    return OnDevice(train, train_labels, test, test_labels)


def records_of(
    schedule: Schedule, runs: Sequence[int], states: Sequence[RunState], weights: Sequence[str], tests: int
) -> Records:
    """The records of finished runs, in their order; ``tests`` is the number of test images."""
    evaluated = schedule.evaluated
    rates = [schedule.learning_rate(int(step) - 1) if step else np.nan for step in evaluated]
    halves = np.stack([state.test_error_halves for state in states])
    return Records(
        run=np.asarray(runs),
        step=evaluated,
        epoch=schedule.epochs,
        learning_rate=np.asarray(rates),
        train_loss=np.stack([state.train_loss for state in states]),
        train_error=np.stack([state.train_error for state in states]),
        test_loss=np.stack([state.test_loss for state in states]),
        # The first half has the odd image.
        test_error=np.average(halves, axis=2, weights=[tests - tests // 2, tests // 2]),
        test_error_halves=halves,
        norms=np.stack([state.norms for state in states]),
        weights=np.asarray(weights),
    )


def check_host_memory(needed: float, there: float) -> None:
    """Refuse a run that a machine without a GPU cannot hold.

    Args:
        needed: MB for the run.
        there: MB of the machine's memory.

    Raises:
        ResauditError: it does not fit; says what would.
    """
    if needed > there:
        what = f"a run needs {needed:.0f} MB of memory, and this machine has {there:.0f} MB"
        raise ResauditError(f"{what}; take fewer layers, a smaller batch or another machine")
