"""Spectral norms of products of layers at initialisation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from resaudit.paper import Cost, Execution, Work
from residual.stable_scaling.jobs.at_initialisation import AtInitialisation, Places
from residual.stable_scaling.network.setting import FORWARD, Products, layers_kept, streams

# Measured on the Xeon of benchmarks/RESULTS.md, of matrices of width m: SECONDS_PER_CUBE * m^3.
SECONDS_PER_PRODUCT = 4.5e-11
SECONDS_PER_NORM = 3e-11


@dataclass(frozen=True)
class ProductNorms(AtInitialisation):
    """Norms of the products between ``kept`` layers."""

    kind = "product_norms"
    files = {"products.npz": Products}

    def cost(self, execution: Execution) -> Cost:
        """A product a layer and a pair, and a norm a pair."""
        pairs = self.kept * (self.kept + 1) / 2
        seconds = sum(
            each.width**3 * (SECONDS_PER_PRODUCT * (each.depth + pairs) + SECONDS_PER_NORM * pairs)
            for each in self.networks
        )
        held = (self.samples.count * self.kept + 6) * 8e-6 * max(each.width for each in self.networks) ** 2
        return Cost(Cost.START.seconds + seconds * self.runs * self.samples.count, Cost.START.megabytes + held)

    def run(self, work: Work) -> dict[str, Any]:
        from residual.stable_scaling.network.products import largest_norms, pairs_of
        from residual.stable_scaling.network.propagation import first_states

        def measure(places: Places, runs: range, inputs: np.ndarray, _targets: np.ndarray) -> list[np.ndarray]:
            (network,) = (self.networks[place] for place in places)
            (start,) = first_states(network, inputs, self.seed, runs)
            (rng,) = streams(self.seed, FORWARD, runs)
            norms = largest_norms(
                start, matrices(network.width, rng), network.tau or 0.0, layers_kept(network.depth, self.kept)
            )
            return [norms[None]]

        pairs = [pairs_of(layers_kept(network.depth, self.kept)) for network in self.networks]
        groups = [([place], range(run, run + 1)) for place in range(len(pairs)) for run in range(self.runs)]
        most = max(map(len, pairs))
        norms = self.measured(work, groups, most, measure)
        ends = np.array([of_network + [(0, 0)] * (most - len(of_network)) for of_network in pairs])
        return {"products.npz": Products(ends[..., 0], ends[..., 1], norms)}


def matrices(width: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """W_1, W_2, ..., with entries N(0, 1/m), each (m, m)."""
    while True:
        yield rng.standard_normal((width, width)) / width**0.5
