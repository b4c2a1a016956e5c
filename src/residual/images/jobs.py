"""Training one network on images: several runs, each with its own weights, order and augmentation."""

from dataclasses import dataclass
from math import isqrt, prod
from typing import TYPE_CHECKING, Any

from resaudit.paper import Cost, DataError, Execution, Fetch, Job, Work
from residual.images import costs
from residual.images.schedule import Records, Schedule
from residual.images.setting import Network, Recipe

if TYPE_CHECKING:
    from resaudit.paper import ImageSet

# CIFAR's, for estimates: the plan does not read the data.
TRAIN_IMAGES, TEST_IMAGES, IMAGE_SHAPE = 50_000, 10_000, (3, 32, 32)
# Measured on a CPU: what does not grow with the batch, and the process's memory for each byte that is in use.
MEGABYTES_HELD, FRAGMENTS = 100.0, 1.2
# CUDA with its libraries.
GPU_MEGABYTES_TO_START = 600.0


@dataclass(frozen=True)
class TrainImages(Job):
    """Runs of one network and one recipe."""

    kind = "train_images"
    files = {"records.npz": Records}

    data: Fetch  # the images
    network: Network  # its settings
    recipe: Recipe  # of the training
    runs: tuple[int, ...]  # their numbers; a run depends on its number and the seed, not on the others
    seed: int  # of all random draws
    shared_start: bool = False  # whether all runs start from the same weights
    samples: int | None = None  # the first training images are used; None: all

    @property
    def stem(self) -> str:
        return self.network.family

    def cost(self, execution: Execution) -> Cost:
        """The cost with images as many and as large as CIFAR's, if no run diverges."""
        schedule = Schedule(self.recipe, self.samples or TRAIN_IMAGES)
        images = len(self.runs) * schedule.samples(schedule.steps - 1)[1]
        tests = len(self.runs) * len(schedule.evaluated) * TEST_IMAGES
        at_once = min(len(self.runs), max(costs.GPU_SECONDS_A_LAYER_AND_IMAGE))
        of_images = (TRAIN_IMAGES + TEST_IMAGES) * prod(IMAGE_SHAPE) / 1e6
        return Cost(
            Cost.START.seconds + costs.cpu_seconds(self.network, images, tests),
            self.megabytes(TRAIN_IMAGES + TEST_IMAGES, IMAGE_SHAPE),
            wants_gpu=True,
            gpu_seconds=Cost.START.seconds + costs.gpu_seconds(self.network, images, tests, at_once),
            gpu_megabytes=GPU_MEGABYTES_TO_START + of_images + at_once * self.gpu_run_megabytes(),
        )

    def gpu_run_megabytes(self) -> float:
        """Memory of one run on a GPU in MB; if fewer fit at once than could train, fewer do."""
        of_run = costs.gpu_run_megabytes(self.network, self.recipe)
        # The smaller last batch of an epoch is no part of the graph, which keeps its memory.
        smaller = Schedule(self.recipe, self.samples or TRAIN_IMAGES).smaller_batch
        return of_run * (1 + smaller / self.recipe.batch) + costs.test_megabytes(self.network, *IMAGE_SHAPE[:2])

    def megabytes(self, images: int, shape: tuple[int, ...]) -> float:
        """Memory on a CPU in MB, with so many images in all, of a shape (channels, height, width)."""
        channels, height, width = shape
        # A square of as many pixels.
        size = channels, isqrt(height * width - 1) + 1
        largest = max(costs.run_megabytes(self.network, self.recipe, *size), costs.test_megabytes(self.network, *size))
        # The images twice: as they are read, and colours last.
        return Cost.START.megabytes + MEGABYTES_HELD + 2 * images * prod(shape) / 1e6 + FRAGMENTS * largest

    def run(self, work: Work) -> dict[str, Any]:
        from residual.images.training import train

        return {"records.npz": train(self, work)}

    def images(self) -> "ImageSet":
        """The images to use; refused if there are fewer than ``samples``."""
        from resaudit.paper import ImageSet

        whole: ImageSet = self.data.image_set()
        if self.samples is None:
            return whole
        if len(whole.train_images) < self.samples:
            raise DataError(
                f"{self.data.dataset.name} has {len(whole.train_images)} training images; {self.samples} are asked for"
            )
        first = whole.train_images[: self.samples], whole.train_labels[: self.samples]
        return ImageSet(*first, whole.test_images, whole.test_labels, whole.classes)
