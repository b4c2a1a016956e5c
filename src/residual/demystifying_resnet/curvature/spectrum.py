"""Statistics of a Hessian's eigenvalues, with their noise floor."""

from collections.abc import Iterable
from dataclasses import fields

import numpy as np
import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.curvature.linear import lower_hessians
from residual.demystifying_resnet.curvature.spectra import Spectra
from residual.demystifying_resnet.networks.network import Network

SIZEABLE = 0.01
"""Least share of the largest absolute eigenvalue that the sizeable index counts."""
BYTES_AT_ONCE = 256 * 2**20
"""Memory for the Hessians of one batch; a batch has at least one Hessian."""


def spectrum_statistics(eigenvalues: torch.Tensor) -> Spectra:
    """Statistics of eigenvalues of shape (..., N); the percentile interpolates linearly between ranks.

    >>> s = spectrum_statistics(torch.tensor([-4.0, 1.0, 2.0, 2.0], dtype=torch.float64))
    >>> s.lambda_max.item(), s.index.item(), round(s.lambda_p10.item(), 12)
    (4.0, 0.25, 1.3)
    """
    magnitudes = eigenvalues.abs()
    lambda_max = magnitudes.amax(dim=-1)
    lambda_p10 = torch.quantile(magnitudes, 0.1, dim=-1)
    noise_floor = torch.finfo(eigenvalues.dtype).eps * eigenvalues.shape[-1] * lambda_max
    finite = lambda_max.isfinite()

    def share_below(bound: torch.Tensor) -> np.ndarray:
        below = (eigenvalues < bound[..., None]).to(torch.float64).mean(dim=-1)
        return below.where(finite, torch.nan).cpu().numpy()

    return Spectra(
        lambda_max=lambda_max.cpu().numpy(),
        lambda_p10=lambda_p10.cpu().numpy(),
        condition_number=(lambda_max / lambda_p10).cpu().numpy(),
        index=share_below(-noise_floor),
        raw_index=share_below(torch.zeros_like(noise_floor)),
        sizeable_index=share_below(-SIZEABLE * lambda_max),
        noise_floor=noise_floor.cpu().numpy(),
        resolved=(lambda_p10 > noise_floor).cpu().numpy(),
    )


def spectra_along(weights: Iterable[torch.Tensor], network: Network, moments: Moments) -> Spectra:
    """Spectra of the exact Hessians at each of the weights, from all eigenvalues; shape (weights, runs).

    A run that has diverged, or whose Hessian overflows, has NaN statistics and is not resolved.

    Args:
        weights: any number of points, each of shape (depth, runs, width, width). In float32 (the paper may have used
            it) the eigenvalues are computed in float32, and the noise floor is 5e8 times that of float64.
        network: shape and shortcuts.
        moments: second moments of the data.

    Raises:
        ValueError: shapes differ from the network's, or the network is not linear.
    """
    by_weights = []
    for at in weights:
        check_shapes(at, network, moments)
        finite = torch.isfinite(at).all(dim=3).all(dim=2).all(dim=0)
        eigenvalues = at.new_full((at.shape[1], network.parameters), torch.nan)
        at_once = max(1, BYTES_AT_ONCE // (at.element_size() * network.parameters**2))
        alive = finite.nonzero()[:, 0]
        for first in range(0, len(alive), at_once):
            runs = alive[first : first + at_once]
            hessians = lower_hessians(at[:, runs], network, moments).tril_()
            # Shortly before a run diverges its Hessian leaves float32's range, and LAPACK then refuses the whole batch.
            overflowed = ~hessians.isfinite().all(dim=2).all(dim=1)
            hessians[overflowed] = 0
            eigenvalues[runs] = torch.linalg.eigvalsh(hessians)
            eigenvalues[runs[overflowed]] = torch.nan
        by_weights.append(spectrum_statistics(eigenvalues))
    return Spectra(*(np.stack([getattr(spectra, f.name) for spectra in by_weights]) for f in fields(Spectra)))


def check_shapes(weights: torch.Tensor, network: Network, moments: Moments) -> None:
    """Raise a ValueError if weights and moments do not fit a linear network."""
    depth, width = network.depth, network.width
    if weights.ndim != 4 or (weights.shape[0], *weights.shape[2:]) != (depth, width, width):
        raise ValueError(
            f"weights have the shape {tuple(weights.shape)}; needed: a list of tensors of shape (depth, runs, width, "
            f"width) = ({depth}, runs, {width}, {width})"
        )
    if moments.xx.shape != (width, width):
        raise ValueError(f"moments are of {len(moments.xx)} inputs; needed: {width}, the network's width")
    if not network.is_linear:
        raise ValueError("the network has activations; the exact Hessian is that of a linear one")
