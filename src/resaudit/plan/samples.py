"""The training images of a configured data set, for notebooks and scripts that plan nothing."""

from pathlib import Path

import numpy as np

from resaudit.data.fetch import fetch
from resaudit.plan.composition import config_folder, datasets
from resaudit.plan.plan import fetch_of


def training_set(name: str, folder: Path | str = "data") -> tuple[np.ndarray, np.ndarray]:
    """All training images and labels, unsigned bytes; fetched into ``folder`` if they are not there.

    Returns:
        MNIST's have the shapes (60000, 28, 28) and (60000,).
    """
    raw = fetch_of(datasets(config_folder())[name], str(folder))
    fetch(raw.dataset, Path(raw.raw))
    return raw.training_set()
