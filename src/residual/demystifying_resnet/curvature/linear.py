"""Exact Hessians of plain and n-shortcut linear networks in closed form, from the moments of the data.

With L_m the matrix from layer m's output to the network's output, R_m the one from the network's input to layer
m's input, C_mk (m > k) the one from layer k's output to layer m's input, S = S_XX and E = P S_XX - S_YX, the
second derivative of the loss in the directions V_m, V_k of layers m >= k is

    <L_m V_m R_m, L_k V_k R_k S> + [m > k] <E, L_m V_m C_mk V_k R_k>,

so that with V_m = e_a e_b^T and V_k = e_c e_d^T, an entry of the Hessian is

    (L_m^T L_k)_ac (R_m S R_k^T)_bd + [m > k] (L_m^T E R_k^T)_ad (C_mk)_bc.
"""

import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.networks.linear import backward, forward, identity_of
from residual.demystifying_resnet.networks.network import Network


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
    xx = torch.from_numpy(moments.xx).to(weights)
    optimal_map = torch.from_numpy(moments.optimal_map).to(weights)
    *inputs, product = forward(weights, network)
    right = torch.stack(inputs, dim=1)
    left_t = torch.stack(backward(weights, network, identity_of(weights)), dim=1)
    residual = ((product - optimal_map) @ xx)[:, None]

    outer_left = _every_pair(left_t, left_t)[:, :, None, :, :, None, :]
    outer_right = _every_pair(right @ xx, right)[:, :, :, None, :, :, None]
    crossed = _every_pair(left_t @ residual, right)[:, :, None, :, :, :, None]
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
