"""Exact Hessians of linear networks in closed form, from the moments of the data, and their spectra.

With L_m the matrix from layer m's output to the network's output, R_m the one from the network's input to layer
m's input, C_mk (m > k) the one from layer k's output to layer m's input, S = S_XX and E = P S_XX - S_YX, the
second derivative of the loss in the directions V_m, V_k of layers m >= k is

    <L_m V_m R_m, L_k V_k R_k S> + [m > k] <E, L_m V_m C_mk V_k R_k>,

so that with V_m = e_a e_b^T and V_k = e_c e_d^T, an entry of the Hessian is

    (L_m^T L_k)_ac (R_m S R_k^T)_bd + [m > k] (L_m^T E R_k^T)_ad (C_mk)_bc.
"""

from collections.abc import Iterable
from dataclasses import fields

import numpy as np
import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.networks.linear import LinearObjective, backward, identity_of
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.networks.spectra import Spectra


def hessians(weights: torch.Tensor, network: Network, moments: Moments) -> torch.Tensor:
    """Hessians of the loss (1/2m) sum |y - f(x)|^2 at the weights of every run of a linear network.

    Args:
        weights: shape (depth, runs, width, width), float64.
        network: shape and shortcuts.
        moments: second moments of the data, float64.

    Returns:
        Shape (runs, N, N), N = depth * width^2, exactly symmetric. Parameters are ordered as in
        Demystifying ResNet, Definition 5: by layer, then column, then row of the weight matrix.
    """
    lower = lower_hessians(weights, network, moments)
    return lower.tril() + lower.tril(-1).mT


def lower_hessians(weights: torch.Tensor, network: Network, moments: Moments) -> torch.Tensor:
    """As :func:`hessians`, but only the lower triangle is meaningful; eigensolvers read no more."""
    if not network.is_linear:
        raise ValueError("closed-form Hessians exist for linear networks only")
    objective = LinearObjective.of(network, moments, weights.device, weights.dtype)
    inputs, _, residual = objective.residual(weights)
    right = torch.stack(inputs, dim=1)
    left_t = torch.stack(backward(weights, network, identity_of(weights)), dim=1)

    outer_left = _every_pair(left_t, left_t)[:, :, None, :, :, None, :]
    outer_right = _every_pair(right @ objective.xx, right)[:, :, :, None, :, :, None]
    crossed = _every_pair(left_t @ residual[:, None], right)[:, :, None, :, :, :, None]
    between = _between(weights, network)[:, :, :, None, :, None, :]
    hessian = (outer_left * outer_right).addcmul_(crossed, between)
    return hessian.reshape(-1, network.parameters, network.parameters)


def _every_pair(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """A_m B_k^T for every pair of layers, as (runs, layer m, row, layer k, row)."""
    return torch.einsum("bmie,bkje->bmikj", a, b)


def _between(weights: torch.Tensor, network: Network) -> torch.Tensor:
    """C_mk for m > k, zero elsewhere; shape (runs, depth m, width, depth k, width)."""
    depth, runs, width, _ = weights.shape
    result = weights.new_zeros(runs, depth, width, depth, width)
    state = weights.new_zeros(runs, width, depth, width)
    for first in network.units:
        entry = state.clone()
        for layer in range(first, first + network.unit_depth):
            result[:, layer] = state
            state = torch.bmm(weights[layer], state.reshape(runs, width, -1)).view_as(state)
            state[:, :, layer] = identity_of(weights)
        if network.has_shortcuts:
            state = state + entry
    return result


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
