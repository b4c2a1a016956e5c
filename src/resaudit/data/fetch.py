"""Fetching a data set's files into a folder that runs may share."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.data.dataset import Dataset, IdxDataset
from resaudit.data.images import ImageSet, read_image_set
from resaudit.jobs.job import Cost, Execution, Job, Work
from resaudit.runtime.progress import log


@dataclass(frozen=True)
class Fetch(Job):
    """The stored files of a data set, identified by their digests, not by their source."""

    kind = "fetch"

    dataset: Dataset  # the data set's files and sources
    raw: str  # folder for the files

    @property
    def stem(self) -> str:
        """The data set's name."""
        return self.dataset.name

    @property
    def identity(self) -> dict[str, Any]:
        """The digest of each file."""
        return self.dataset.identity

    def cost(self, execution: Execution) -> Cost:
        """The cost of a slow download; measured: 800 MB for 60 000 JPEG images, 350 MB for CIFAR-10's pickles."""
        stored = sum(file.size for file in self.dataset.files.values()) / 1e6
        return Cost(60.0 + stored, 600.0 + 2 * stored)

    def written(self, results: Path, *names: str) -> list[Path]:
        """The stored files."""
        return [Path(self.raw) / file.name for file in self.dataset.files.values()]

    def run(self, work: Work) -> dict[str, Any]:
        """Store the missing files."""
        from resaudit.data.sources import fetch

        for line in fetch(self.dataset, Path(self.raw)):
            log(line)
        return {}

    def training_set(self) -> tuple[np.ndarray, np.ndarray]:
        """All training images, shape (samples, …), and labels (samples,), as unsigned bytes."""
        images = self.image_set()
        without_channel = isinstance(self.dataset, IdxDataset) and images.train_images.shape[1] == 1
        return images.train_images[:, 0] if without_channel else images.train_images, images.train_labels

    def image_set(self) -> ImageSet:
        """Training and test images with channels, and labels."""
        return read_image_set(self.dataset, Path(self.raw))
