"""Norms of hidden states of networks at initialisation."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resaudit.paper import Cost, Execution, Work
from residual.stable_scaling.jobs.at_initialisation import AtInitialisation, Places
from residual.stable_scaling.network.setting import Network, Propagated

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_NUMBER = 5e-9
SECONDS_PER_DRAW = 1.2e-8
SECONDS_PER_LAYER = 3e-5
NUMBERS_AT_ONCE = 1 << 18
"""Entries of the states of runs side by side that stay in a cache."""


@dataclass(frozen=True)
class Propagate(AtInitialisation):
    """Norms of hidden states."""

    kind = "propagate"
    files = {"propagated.npz": Propagated}

    def cost(self, execution: Execution) -> Cost:
        """In proportion to the entries of all hidden states, and to those that are drawn for several networks."""
        together = [[self.networks[place] for place in places] for places in self._together()]
        drawn = self.runs * self.samples.count * sum(each[0].width * max(n.depth for n in each) for each in together)
        seconds = SECONDS_PER_NUMBER * self.numbers + SECONDS_PER_DRAW * drawn
        seconds += SECONDS_PER_LAYER * sum(each.depth for each in self.networks)
        held = max(len(each) * max(NUMBERS_AT_ONCE, each[0].width * self.samples.count) for each in together)
        return Cost(Cost.START.seconds + seconds, Cost.START.megabytes + 120 + 8e-6 * held)

    def run(self, work: Work) -> dict[str, Any]:
        """Propagate, networks that share their random numbers side by side."""
        from residual.stable_scaling.network.propagation import propagate

        def measure(places: Places, runs: range, inputs: np.ndarray, _targets: np.ndarray) -> list[np.ndarray]:
            networks = [self.networks[place] for place in places]
            return propagate(networks, inputs, self.kept, self.seed, runs)

        groups = self.groups(self._together(), lambda network: network.width * self.samples.count, NUMBERS_AT_ONCE)
        values = self.measured(work, groups, 3 + self.layers, measure)
        return {"propagated.npz": Propagated(values[..., 3:], *np.moveaxis(values[..., :3], -1, 0))}

    def _together(self) -> list[list[int]]:
        """Networks that differ in tau and depth alone."""
        alike: dict[Network, list[int]] = {}
        for place, network in enumerate(self.networks):
            key = replace(network, depth=0, tau=None if network.tau is None else 1.0)
            alike.setdefault(key, []).append(place)
        return list(alike.values())
