"""Gradients of networks at initialisation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from resaudit.paper import Cost, Execution, Work
from residual.stable_scaling.jobs.at_initialisation import AtInitialisation, Places
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
        return Cost(Cost.START.seconds + SECONDS_PER_NUMBER * self.numbers, Cost.START.megabytes + 200 + held)

    def run(self, work: Work) -> dict[str, Any]:
        from residual.stable_scaling.network.gradients import backpropagate

        def measure(places: Places, runs: range, inputs: np.ndarray, targets: np.ndarray) -> list[np.ndarray]:
            (network,) = (self.networks[place] for place in places)
            norms = backpropagate(network, inputs, targets, self.seed, runs).max(axis=2)
            of_middle = norms[:, :-1] / (network.tau or 1.0)
            kept = of_middle[:, np.array(layers_kept(network.depth, self.kept)) - 1]
            return [np.column_stack([of_middle.max(axis=1), norms[:, -1], kept])]

        alone = [[place] for place in range(len(self.networks))]
        groups = self.groups(alone, lambda each: each.width * each.depth * self.samples.count, NUMBERS_AT_ONCE)
        values = self.measured(work, groups, 2 + self.layers, measure)
        return {"backpropagated.npz": Backpropagated(values[..., 2:], values[..., 0], values[..., 1])}
