"""The convolutions of a network and their trainable weights, counted in the network itself."""

from dataclasses import dataclass
from typing import Any

from resaudit.paper import Cost, Job, Work
from residual.images.measured import Architecture, LayerCounts


@dataclass(frozen=True)
class Count(Job):
    """One network."""

    kind = "count"
    files = {"counts.npz": LayerCounts}
    typical = Cost(4.0, 560.0)

    network: str  # name of the network
    architecture: Architecture  # what it is built from

    @property
    def stem(self) -> str:
        """The network."""
        return self.network

    def run(self, work: Work) -> dict[str, Any]:
        """Build and count."""
        from residual.images.networks.all_convolutional import count_layers

        return {"counts.npz": count_layers(self.architecture)}
