"""An ensemble: runs of one network that differ only in learning rate and seed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from resaudit.networks.network import Network

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Ensemble:
    """What the runs have in common.

    Attributes:
        network: shape and activations.
        initialization: law of the initial weights, as :mod:`resaudit.networks.initialization` knows it.
        scale: factor on the initial weights.
        seed: of the whole ensemble; run r draws from (seed, r).
        runs: seeds, each at every learning rate.
    """

    network: Network
    initialization: str
    scale: float
    seed: int
    runs: int

    @property
    def stem(self) -> str:
        """In a few words."""
        network = self.network
        law = f"shortcut{network.shortcut_depth}" if network.has_shortcuts else self.initialization
        shape = "linear" if network.is_linear else "-".join((network.pre, network.mid, network.post))
        return f"{law}-{shape}-depth{network.depth}"

    def initial_weights(self) -> "torch.Tensor":
        """Weights of shape (depth, runs, width, width), float64, on the CPU."""
        from resaudit.networks.initialization import initial_weights

        return initial_weights(self.network, self.initialization, self.scale, self.seed, self.runs)
