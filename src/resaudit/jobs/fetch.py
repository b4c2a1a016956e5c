"""Fetching a data set's raw files into a folder that runs may share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from resaudit.datasets.dataset import Dataset
from resaudit.datasets.idx import parse_idx
from resaudit.plan.job import Cost, Execution, Job, Work
from resaudit.runtime.progress import say


@dataclass(frozen=True)
class Fetch(Job):
    """The raw files of a data set, identified by their SHA-256, not by their source.

    Attributes:
        dataset: files and sources.
        raw: folder for the files.
    """

    kind: ClassVar[str] = "fetch"
    files: ClassVar[tuple[str, ...]] = ()

    dataset: Dataset
    raw: str

    @property
    def stem(self) -> str:
        """The data set's name."""
        return self.dataset.name

    @property
    def identity(self) -> dict[str, Any]:
        """The SHA-256 of each file."""
        return {"files": {key: file.sha256 for key, file in self.dataset.files.items()}}

    def cost(self, execution: Execution) -> Cost:
        """A download of some ten megabytes."""
        return Cost(60.0, 600.0)

    def written(self, results: Path, *names: str) -> list[Path]:
        """The raw files."""
        return [Path(self.raw) / file.name for file in self.dataset.files.values()]

    def run(self, work: Work) -> dict[str, Any]:
        """Store the missing files.

        Raises:
            ResauditError: no source has them.
        """
        from resaudit.datasets.sources import fetch

        for line in fetch(self.dataset, Path(self.raw)):
            say(line)
        return {}

    def training_set(self) -> tuple[np.ndarray, np.ndarray]:
        """All training images (samples, height, width) and labels (samples,), as unsigned bytes.

        Raises:
            ResauditError: a file is missing or was changed.
        """
        from resaudit.datasets.sources import read_verified

        files = {key: self.dataset.files[key] for key in ("train_images", "train_labels")}
        images, labels = (parse_idx(read_verified(Path(self.raw), file), key) for key, file in files.items())
        return images, labels
