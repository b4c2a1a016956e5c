"""Networks of Theorem 3.2 of "Identity Matters in Deep Learning", built to memorize images and run on them."""

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from resaudit.paper import ConfigError, Cost, DataError, Execution, Fetch, Job, Work, refuse_black
from residual.identity_matters.relu.measured import IMAGES, NUMBERS, ORTHOGONAL, ROWS, SINGLE, Case, Expressed

# Measured on the machine of benchmarks/RESULTS.md: products on one core in double precision; twice as many in single.
OPERATIONS_PER_SECOND = 4e10
SECONDS_PER_ENTRY = 1.5e-9
"""Comparison of a product's entry with the others."""
SECONDS_PER_PASS = 1.5e-4
"""Some points through one layer, without products."""
LEAST_FOR_TWO_THREADS = 10_000_000
"""Coordinates of all points; small products gain nothing from a second thread."""
SECONDS_PER_CASE = 0.2
MEGABYTES = 1500.0
PIXELS = 784
BYTES_OF_POINTS = 44.0
"""For each coordinate of a point: several copies in both precisions."""


@dataclass(frozen=True)
class Memorize(Job):
    """Cases in turn, with the same images and seed."""

    kind = "memorize"
    files = {"expressed.npz": Expressed}

    data: Fetch  # raw images
    cases: tuple[Case, ...]  # networks
    nested: tuple[int, ...]  # numbers of images whose least distance is measured
    seed: int  # the seed of all draws

    @property
    def stem(self) -> str:
        return f"{self.data.dataset.name}-n{max(case.samples for case in self.cases)}-{len(self.cases)}cases"

    def cost(self, execution: Execution) -> Cost:
        """Each pair of points once in single precision in every case, and once for the least distance."""
        seconds = Cost.START.seconds + SECONDS_PER_CASE * len(self.cases)
        pairs = [(case.samples, case.width) for case in self.cases]
        distances = {
            (case.points, case.samples, *((case.width, case.projection) if case.normalized else (PIXELS, "")))
            for case in self.cases
        } | {(IMAGES, max(self.nested, default=0), PIXELS, "")}
        pairs += [(n, width) for _, n, width, _ in distances]
        # A product in single precision takes the time of one operation in double precision, not of two.
        seconds += sum(n**2 / 2 * (width / OPERATIONS_PER_SECOND + SECONDS_PER_ENTRY) for n, width in pairs)
        for case in self.cases:
            n, k, labellings = case.samples, case.width, len(case.labels)
            together = max(ROWS, NUMBERS // k)
            # While a point is moved, those after it pass beside it, in the case's precision and for each labelling.
            beside = 2 * n * k * (together / 2 + k) * labellings / (2 if case.precision == SINGLE else 1)
            seconds += (beside + 2 * n * k * PIXELS) / OPERATIONS_PER_SECOND
            seconds += SECONDS_PER_PASS * ceil(n / k) * ceil(n / together) * labellings
        largest = max(case.samples * max(case.width, PIXELS) for case in self.cases)
        threads = 2 if max(case.samples * case.width for case in self.cases) > LEAST_FOR_TWO_THREADS else 1
        return Cost(seconds, MEGABYTES + BYTES_OF_POINTS * largest / 1e6, threads)

    def run(self, work: Work) -> dict[str, Any]:
        from resaudit.paper import Progress
        from residual.identity_matters.relu.memorize import LabelledImages, memorize

        images, labels = self.data.training_set()
        pixels = images.reshape(len(images), -1)
        self._check(pixels)
        data = LabelledImages(pixels, labels, self.data.dataset.classes)
        name = f"{self.id} cases"
        measured = memorize(data, self.cases, self.nested, self.seed, lambda cases: Progress.over(cases, name))
        return {"expressed.npz": measured}

    def _check(self, pixels: np.ndarray) -> None:
        name, (count, dimension) = self.data.dataset.name, pixels.shape
        wanted = max([case.samples for case in self.cases] + list(self.nested))
        if wanted > count:
            raise DataError(f"theorem32 asks for {wanted} images; {name} has {count}")
        width = max((case.width for case in self.cases if case.projection == ORTHOGONAL), default=0)
        if width > dimension:
            raise ConfigError(
                f"theorem32 has width {width} with an orthogonal projection; allowed: at most {dimension}, the pixels "
                f"of {name}"
            )
        refuse_black(pixels, name)
