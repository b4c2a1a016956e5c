"""An ensemble: runs of one network that differ only in learning rate and seed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from residual.demystifying_resnet.networks.network import Network

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Ensemble:
    """The shared settings of an ensemble's runs."""

    network: Network  # shape and activations
    initialization: str  # law of the initial weights, of :func:`initial_weights`
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
        return initial_weights(self.network, self.initialization, self.scale, self.seed, self.runs, self.first)


INITIALIZATIONS = ("xavier", "xavier_uniform", "orthogonal")


def initial_weights(
    network: Network, initialization: str, scale: float, seed: int, runs: int, first: int = 0
) -> "torch.Tensor":
    """Draw the initial weights of ``runs`` runs, from number ``first`` on.

    - ``xavier``: independent Gaussians of variance 2/(fan_in + fan_out) = 1/width (Glorot and Bengio 2010);
    - ``xavier_uniform``: the same variance, uniform;
    - ``orthogonal``: uniform (Haar) on the orthogonal group (Saxe et al. 2013).

    ``scale`` multiplies all weights: Demystifying ResNet starts shortcut networks at Xavier x 0.01 (section 4.1).
    Run r depends on (seed, r) alone, so a reduced scale's runs are the paper scale's first runs.

    Returns:
        Weights of shape (depth, runs, width, width), float64, on the CPU.
    """
    import torch

    shape, deviation = (network.depth, network.width, network.width), network.width**-0.5
    draws = []
    for run in range(first, first + runs):
        rng = np.random.default_rng([seed, run])
        if initialization == "xavier":
            draws.append(deviation * rng.standard_normal(shape))
        elif initialization == "xavier_uniform":
            bound = 3.0**0.5 * deviation
            draws.append(rng.uniform(-bound, bound, shape))
        elif initialization == "orthogonal":
            q, r = np.linalg.qr(rng.standard_normal(shape))
            # QR alone is not Haar: the signs of r's diagonal must be undone (Mezzadri 2007).
            draws.append(q * np.sign(np.einsum("lii->li", r))[:, None, :])
        else:
            raise ValueError(f"unknown initialization {initialization!r}; allowed: {', '.join(INITIALIZATIONS)}")
    return scale * torch.from_numpy(np.stack(draws, axis=1))
