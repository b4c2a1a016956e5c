"""What is computed for a figure."""

from typing import Literal

from adam.jobs import Descend
from resaudit.paper import Experiment, at


class Streams(Experiment, name="streams"):
    """Adam on gradients of every scale with every beta2."""

    gradients: Literal["noise", "online"]
    scales: list[float]
    beta1: float
    beta2s: list[float]
    kept: list[int]
    runs: int

    def jobs(self, data, seed):
        grid = [(scale, beta2) for scale in self.scales for beta2 in self.beta2s]
        return {at(scale=s, beta2=b): self.job(Descend, scale=s, beta2=b, seed=seed) for s, b in grid}
