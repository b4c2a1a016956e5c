"""An ensemble: runs of one network that differ only in learning rate and seed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from residual.demystifying_resnet.networks.network import Network

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Ensemble:
    """The shared settings of an ensemble's runs."""

    network: Network  # shape and activations
    initialization: str  # law of the initial weights, of :mod:`residual.demystifying_resnet.networks.initialization`
    scale: float  # factor on the initial weights
    seed: int  # seed of the whole ensemble; run r draws from (seed, r)
    runs: int  # number of seeds, each at every learning rate
    first: int = 0  # number of the first run: an ensemble may be a block of a larger one

    @property
    def stem(self) -> str:
        """A short description, part of ids."""
        network = self.network
        law = f"shortcut{network.shortcut_depth}" if network.has_shortcuts else self.initialization
        shape = "linear" if network.is_linear else "-".join((network.pre, network.mid, network.post))
        return f"{law}-{shape}-depth{network.depth}" + (f"-from{self.first}" if self.first else "")

    def initial_weights(self) -> "torch.Tensor":
        """Weights of shape (depth, runs, width, width), float64, on the CPU."""
        from residual.demystifying_resnet.networks.initialization import initial_weights

        return initial_weights(self.network, self.initialization, self.scale, self.seed, self.runs, self.first)
