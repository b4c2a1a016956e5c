"""Norms of hidden states of networks at initialisation, and the base of all jobs about such networks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from resaudit.data.fetch import Fetch
from resaudit.jobs.job import MEGABYTES_TO_START, SECONDS_TO_START, Cost, Execution, Job, Work
from residual.stable_scaling.network.setting import Network, Propagated, Samples, layers_kept

# Measured on the machine of benchmarks/RESULTS.md.
SECONDS_PER_NUMBER = 2.5e-8
SECONDS_PER_LAYER = 3e-5
NUMBERS_AT_ONCE = 1 << 18
"""Entries of the states of runs side by side that stay in a cache."""


@dataclass(frozen=True)
class AtInitialisation(Job):
    """Networks at initialisation, each with the same number of runs, which differ in weights and inputs."""

    data: Fetch | None  # the images; None: inputs on the sphere
    networks: tuple[Network, ...]  # each gets all runs, which draw from the same streams
    samples: Samples  # the inputs of each run
    runs: int  # number of runs of each network
    kept: int  # number of layers whose norms are kept
    seed: int  # the seed of all draws

    @property
    def stem(self) -> str:
        """Inputs, widths and depths."""
        widths, depths = ({getattr(each, name) for each in self.networks} for name in ("width", "depth"))
        spans = [f"{min(each)}" + (f"to{max(each)}" if len(each) > 1 else "") for each in (widths, depths)]
        return f"{self.samples.law}-width{spans[0]}-depth{spans[1]}"

    @property
    def numbers(self) -> int:
        """Entries of all hidden states."""
        return self.runs * self.samples.count * sum(each.width * each.depth for each in self.networks)

    @property
    def layers(self) -> int:
        """Layers kept of the deepest network."""
        return max(len(layers_kept(network.depth, self.kept)) for network in self.networks)

    def cost(self, execution: Execution) -> Cost:
        """In proportion to the entries of all hidden states."""
        seconds = SECONDS_PER_NUMBER * self.numbers + SECONDS_PER_LAYER * sum(each.depth for each in self.networks)
        return Cost(SECONDS_TO_START + seconds, MEGABYTES_TO_START + 200)

    def groups(self, numbers_of_run: int, most: int) -> Iterator[tuple[range, np.ndarray, np.ndarray]]:
        """Runs side by side with their inputs and targets; a group holds at most ``most`` numbers, or one run."""
        from residual.stable_scaling.network.propagation import inputs_of

        images = self.data.training_set() if self.data else None
        size = max(1, most // numbers_of_run)
        for first in range(0, self.runs, size):
            runs = range(first, min(first + size, self.runs))
            yield runs, *inputs_of(self.samples, images, self.seed, runs)

    def padded(self, parts: list[np.ndarray]) -> np.ndarray:
        """Arrays (runs, layers) of all networks as one, NaN where a network has fewer layers."""
        longest = max(part.shape[1] for part in parts)
        return np.stack([np.pad(p, ((0, 0), (0, longest - p.shape[1])), constant_values=np.nan) for p in parts])


@dataclass(frozen=True)
class Propagate(AtInitialisation):
    """Norms of hidden states."""

    kind = "propagate"
    files = {"propagated.npz": Propagated}

    def run(self, work: Work) -> dict[str, Any]:
        """Propagate."""
        from residual.stable_scaling.network.propagation import propagate

        norms = []
        for network in self.networks:
            groups = self.groups(network.width * self.samples.count, NUMBERS_AT_ONCE)
            kept = layers_kept(network.depth, self.kept)
            parts = [propagate(network, inputs, kept, self.seed, runs) for runs, inputs, _ in groups]
            norms.append([np.concatenate(columns) for columns in zip(*parts, strict=True)])
        layers, *others = zip(*norms, strict=True)
        return {"propagated.npz": Propagated(self.padded(list(layers)), *map(np.stack, others))}
