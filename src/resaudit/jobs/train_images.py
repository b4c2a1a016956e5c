"""Training one network on images: several runs, each with its own weights, order and augmentation."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resaudit.images.records import Records
from resaudit.images.setting import Network, Recipe
from resaudit.jobs.fetch import Fetch
from resaudit.plan.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from resaudit.store.results import read_result


@dataclass(frozen=True)
class TrainImages(Job):
    """Runs of one network and one recipe.

    Attributes:
        data: the images.
        network: its settings.
        recipe: of the training.
        runs: their numbers; a run depends on its number and the seed, not on the others.
        shared_start: whether all runs start from the same weights.
        samples: the first training images are used; None: all.
        seed: of all random draws.
    """

    kind: ClassVar[str] = "train_images"
    files: ClassVar[tuple[str, ...]] = ("records.npz",)

    data: Fetch
    network: Network
    recipe: Recipe
    runs: tuple[int, ...]
    seed: int
    shared_start: bool = False
    samples: int | None = None

    @property
    def stem(self) -> str:
        """The network's family."""
        return self.network.family

    def cost(self, execution: Execution) -> Cost:
        """That of a start."""
        return Cost(SECONDS_TO_START, MEGABYTES_TO_START, wants_gpu=True)

    def run(self, work: Work) -> dict[str, Any]:
        """Train; resume from checkpoints if there are some."""
        raise NotImplementedError

    def read(self, results: Path) -> Records:
        """The records; raises ResauditError as :func:`resaudit.store.results.read_result`."""
        return read_result(self, results, "records.npz", Records)
