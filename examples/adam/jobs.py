"""Adam on a stream of gradients."""

from dataclasses import dataclass

import numpy as np

from resaudit.paper import Simulation


@dataclass(frozen=True)
class Stream:
    """What is recorded after some steps: their numbers, and by (step, run) all else."""

    steps: np.ndarray
    moves: np.ndarray
    moments: np.ndarray
    regrets: np.ndarray


@dataclass(frozen=True)
class Descend(Simulation):
    """Adam without epsilon, with step sizes 0.1/sqrt(t), of points in [-1, 1]; AdaGrad if beta2 is 1."""

    kind = "descend"
    result = Stream

    gradients: str
    scale: float
    beta1: float
    beta2: float
    kept: tuple[int, ...]
    runs: int
    seed: int

    def simulate(self) -> Stream:
        noise, found, adagrad = np.random.default_rng(self.seed), [], self.beta2 == 1
        x, first, second, losses, total = np.zeros((5, self.runs))
        for t in range(1, max(self.kept) + 1):
            online = np.full(self.runs, 3.0 if t % 3 == 1 else -1.0)
            g = self.scale * (online if self.gradients == "online" else noise.standard_normal(self.runs))
            losses, total = losses + g * x, total + g
            first = self.beta1 * first + (1 - self.beta1) * g
            second = self.beta2 * second + (1 if adagrad else 1 - self.beta2) * g**2
            moment = second / (t if adagrad else 1 - self.beta2**t)
            move = first / (1 - self.beta1**t) / np.sqrt(moment)
            x = np.clip(x - 0.1 / np.sqrt(t) * move, -1, 1)
            if t in self.kept:  # the loss of the best fixed point is -|total|
                found.append((move, moment, (losses + np.abs(total)) / t))
        return Stream(np.array(self.kept), *np.swapaxes(found, 0, 1))
