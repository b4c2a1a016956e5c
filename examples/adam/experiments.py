"""What is computed for a figure."""

from itertools import product
from typing import Literal

from adam.jobs import Descend
from resaudit.experiments.experiment import Coordinates, Data, Experiment, at
from resaudit.plan.job import Job


class Streams(Experiment, name="streams"):
    """Adam on gradients of every scale with every beta2."""

    gradients: Literal["noise", "online"]
    scales: list[float]
    beta1: float
    beta2s: list[float]
    kept: list[int]
    runs: int

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        return {
            at(scale=s, beta2=b): Descend(self.gradients, s, self.beta1, b, tuple(self.kept), self.runs, seed)
            for s, b in product(self.scales, self.beta2s)
        }
