"""Networks of Theorem 3.2 of "Identity Matters in Deep Learning", built for images and run on them."""

from dataclasses import dataclass
from math import ceil
from typing import Any

from resaudit.base.errors import ResauditError
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import SECONDS_TO_START, Cost, Execution, Job, Work
from residual.identity_matters.relu.measured import IMAGES, NUMBERS, ORTHOGONAL, ROWS, SINGLE, Case, Expressed

# Measured on the machine of benchmarks/RESULTS.md: products on one core in double precision; twice as many in single.
OPERATIONS_PER_SECOND = 4e10
SECONDS_PER_ENTRY = 1.5e-9
"""Comparison of a product's entry with the others."""
SECONDS_PER_PASS = 1.5e-4
"""Some points through one layer, without products."""
LEAST_FOR_TWO_THREADS = 10_000_000
"""Coordinates of all points."""
SECONDS_PER_CASE = 0.2
MEGABYTES_TO_EXPRESS = 1500.0
PIXELS = 784
BYTES_OF_POINTS = 44.0
"""For each coordinate of a point: several copies in both precisions."""


@dataclass(frozen=True)
class Express(Job):
    """Cases in turn, with the same images and seed."""

    kind = "express"
    files = {"expressed.npz": Expressed}

    data: Fetch  # raw images
    cases: tuple[Case, ...]  # networks
    nested: tuple[int, ...]  # numbers of images whose least distance is measured
    seed: int  # of all draws

    @property
    def stem(self) -> str:
        """Data set, largest n and number of cases."""
        return f"{self.data.dataset.name}-n{max(case.samples for case in self.cases)}-{len(self.cases)}cases"

    def cost(self, execution: Execution) -> Cost:
        """Each pair of points once in single precision in every case, and once for the least distance."""
        distances = {
            (case.points, case.samples, *((case.width, case.projection) if case.normalized else (PIXELS, "")))
            for case in self.cases
        } | {(IMAGES, max(self.nested, default=0), PIXELS, "")}
        seconds = SECONDS_TO_START + sum(_seconds(case) for case in self.cases)
        seconds += sum(_seconds_of_pairs(n, width) for _, n, width, _ in distances)
        largest = max(case.samples * max(case.width, PIXELS) for case in self.cases)
        # Small products gain nothing from a second thread.
        threads = 2 if max(case.samples * case.width for case in self.cases) > LEAST_FOR_TWO_THREADS else 1
        return Cost(seconds, MEGABYTES_TO_EXPRESS + BYTES_OF_POINTS * largest / 1e6, threads)

    def run(self, work: Work) -> dict[str, Any]:
        """Build and run.

        Raises:
            ResauditError: raw files are missing or damaged, have too few images or pixels for a case, or a black image.
        """
        from resaudit.runtime.progress import with_progress
        from residual.identity_matters.relu.express import LabelledImages, express

        images, labels = self.data.training_set()
        pixels = images.reshape(len(images), -1)
        self._check(*pixels.shape)
        if not pixels.any(axis=1).all():
            raise ResauditError(f"{self.data.dataset.name} has an image without any light, which has no direction")
        data = LabelledImages(pixels, labels, self.data.dataset.classes)
        found = express(data, self.cases, self.nested, self.seed, lambda each: with_progress(each, f"{self.id} cases"))
        return {"expressed.npz": found}

    def _check(self, samples: int, pixels: int) -> None:
        name = self.data.dataset.name
        for asked in (*(case.samples for case in self.cases), *self.nested):
            if asked > samples:
                raise ResauditError(f"theorem32 asks for {asked} images; {name} has {samples}")
        for case in self.cases:
            if case.projection == ORTHOGONAL and case.width > pixels:
                raise ResauditError(
                    f"theorem32 has width {case.width} with an orthogonal projection; allowed: at most {pixels}, the "
                    f"pixels of {name}"
                )


def _seconds_of_pairs(n: int, width: int) -> float:
    """n^2 / 2 products in single precision, two operations in the time of one in double precision."""
    return n**2 / 2 * (width / OPERATIONS_PER_SECOND + SECONDS_PER_ENTRY)


def _seconds(case: Case) -> float:
    n, k = case.samples, case.width
    together = max(ROWS, NUMBERS // k)
    # Points beside each other: while one is moved, the others after it pass in the case's precision, by labelling.
    beside = 2 * n * k * (together / 2 + k) * len(case.labels) / (2 if case.precision == SINGLE else 1)
    passes = ceil(n / k) * ceil(n / together) * len(case.labels)
    products = (beside + 2 * n * k * PIXELS) / OPERATIONS_PER_SECOND
    return SECONDS_PER_CASE + _seconds_of_pairs(n, k) + products + SECONDS_PER_PASS * passes
