"""Initial weights: one independent random stream per run, the same on every device and for any number of runs."""

import numpy as np
import torch

from residual.demystifying_resnet.networks.network import Network

INITIALIZATIONS = ("xavier", "xavier_uniform", "orthogonal")


def initial_weights(
    network: Network, initialization: str, scale: float, seed: int, runs: int, first: int = 0
) -> torch.Tensor:
    """Draw the initial weights of ``runs`` runs, from number ``first`` on.

    - ``xavier``: independent Gaussians of variance 2/(fan_in + fan_out) = 1/width (Glorot and Bengio 2010);
    - ``xavier_uniform``: the same variance, uniform;
    - ``orthogonal``: uniform (Haar) on the orthogonal group (Saxe et al. 2013).

    ``scale`` multiplies all weights: Demystifying ResNet starts shortcut networks at Xavier x 0.01 (section 4.1).
    Run r depends on (seed, r) alone, so a reduced scale's runs are the paper scale's first runs.

    Returns:
        Weights of shape (depth, runs, width, width), float64, on the CPU.
    """
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
