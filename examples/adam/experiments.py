"""What is computed for a figure."""

from typing import Literal

from adam.jobs import Descend
from resaudit.plan.experiment import Experiment, at


class Streams(Experiment, name="streams"):
    """Adam on gradients of every scale with every beta2."""

    gradients: Literal["noise", "online"]
    scales: list[float]
    beta1: float
    beta2s: list[float]
    kept: list[int]
    runs: int

    def jobs(self, data, seed):
        grid, rest = [(s, b) for s in self.scales for b in self.beta2s], (tuple(self.kept), self.runs, seed)
        return {at(scale=s, beta2=b): Descend(self.gradients, s, self.beta1, b, *rest) for s, b in grid}
