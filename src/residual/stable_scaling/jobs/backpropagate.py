"""Gradients of networks at initialisation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Work
from residual.stable_scaling.jobs.propagate import AtInitialisation
from residual.stable_scaling.network.setting import Backpropagated, layers_kept

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_NUMBER = 1e-7
NUMBERS_AT_ONCE = 1 << 24
"""Entries of the states that are kept for the backward pass; each needs 24 bytes."""


@dataclass(frozen=True)
class Backpropagate(AtInitialisation):
    """Norms of the gradients of the layers' weights."""

    kind = "backpropagate"
    files = {"backpropagated.npz": Backpropagated}

    def cost(self, execution: Execution) -> Cost:
        """In proportion to the entries of all hidden states."""
        most = max(each.width * each.depth for each in self.networks) * self.samples.count
        held = 2.4e-5 * max(most, min(NUMBERS_AT_ONCE, self.runs * most))
        return Cost(SECONDS_TO_START + SECONDS_PER_NUMBER * self.numbers, MEGABYTES_TO_START + 200 + held)

    def run(self, work: Work) -> dict[str, Any]:
        """Backpropagate."""
        from residual.stable_scaling.network.gradients import backpropagate

        middle, largest, last = [], [], []
        for network in self.networks:
            groups = self.groups(network.width * network.depth * self.samples.count, NUMBERS_AT_ONCE)
            norms = np.concatenate(
                [backpropagate(network, inputs, y, self.seed, runs).max(axis=2) for runs, inputs, y in groups]
            )
            of_middle = norms[:, :-1] / (network.tau or 1.0)
            middle.append(of_middle[:, np.array(layers_kept(network.depth, self.kept)) - 1])
            largest.append(of_middle.max(axis=1))
            last.append(norms[:, -1])
        return {"backpropagated.npz": Backpropagated(self.padded(middle), np.stack(largest), np.stack(last))}
