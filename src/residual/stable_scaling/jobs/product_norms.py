"""Spectral norms of products of layers at initialisation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Work
from residual.stable_scaling.jobs.propagate import AtInitialisation
from residual.stable_scaling.network.setting import Products, layers_kept, torch_seed

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_PRODUCT = 4.5e-10
"""Multiplication and addition of one entry of a matrix with one of a vector."""


@dataclass(frozen=True)
class ProductNorms(AtInitialisation):
    """Norms of the products between ``kept`` layers."""

    kind = "product_norms"
    files = {"products.npz": Products}

    steps: int  # Lanczos steps

    def cost(self, execution: Execution) -> Cost:
        """In proportion to the entries of the matrices; these are held."""
        entries = [each.width**2 * each.depth for each in self.networks]
        pairs = self.kept * (self.kept + 1) / 2
        seconds = SECONDS_PER_PRODUCT * pairs * self.steps * self.runs * self.samples.count * sum(entries)
        return Cost(SECONDS_TO_START + seconds, MEGABYTES_TO_START + 8e-6 * 1.3 * max(entries))

    def run(self, work: Work) -> dict[str, Any]:
        """Measure."""
        from residual.stable_scaling.network.products import of_network, pairs_of, relative_error

        most = self.kept * (self.kept + 1) // 2
        pairs = np.zeros((2, len(self.networks), most), dtype=int)
        norms = np.full((len(self.networks), self.runs, most), np.nan)
        steps = [min(self.steps, network.width) for network in self.networks]
        for (run,), (inputs,), _ in self.groups(1, 1):
            for i, network in enumerate(self.networks):
                places = layers_kept(network.depth, self.kept)
                seed, tau = torch_seed(self.seed, run), network.tau or 0.0
                measured = of_network(inputs, network.width, network.depth, tau, places, steps[i], seed)
                pairs[:, i, : len(measured)] = np.transpose(pairs_of(places))
                norms[i, run, : len(measured)] = measured
        error = np.array([relative_error(each.width, k) for each, k in zip(self.networks, steps, strict=True)])
        return {"products.npz": Products(pairs[0], pairs[1], norms, error)}
