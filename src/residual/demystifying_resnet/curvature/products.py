"""Hessian-vector products without forming the Hessian; the largest absolute eigenvalues by Lanczos's method.

Everything is batched over runs; a product takes O(depth).
"""

from dataclasses import dataclass

import numpy as np
import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.curvature.counts import Chain
from residual.demystifying_resnet.networks.linear import LinearObjective, backward
from residual.demystifying_resnet.networks.network import Network

MOST_STEPS = 120
"""Most Lanczos steps; counts then certify the result."""
STEPS_BETWEEN_CHECKS = 6
BYTES_AT_ONCE = 256 * 2**20
"""Memory for Lanczos vectors; a batch has at least one run."""
ACCURACY = 1e-10
"""Lanczos stops at this relative error of the largest eigenvalue, estimated as squared residual over gap."""
FRESH = 0.03
"""Share of a random vector added to a start vector from another Hessian, so that no eigenvector is missed."""


class HessianProduct:
    """v -> H v of linear networks for directions v of the weights' shape, (depth, runs, width, width) (eq. 3)."""

    def __init__(self, weights: torch.Tensor, network: Network, moments: Moments) -> None:
        self.weights, self.network = weights, network
        objective = LinearObjective.of(network, moments, weights.device, weights.dtype)
        inputs, _, residual = objective.residual(weights)
        self.before, self.second = torch.stack(inputs), objective.xx
        self.slopes = torch.stack(backward(weights, network, residual))

    def __call__(self, direction: torch.Tensor) -> torch.Tensor:
        """The product, of the direction's shape."""
        states, change = self._changes(direction @ self.before)
        returned = self._returned(direction.mT @ self.slopes, change @ self.second)
        return returned @ self.before.mT + self.slopes @ states.mT

    def chains(self) -> list[Chain]:
        """The factors of each run's Hessian."""
        stacks = (self.weights, self.before, self.slopes)
        by_run = [np.ascontiguousarray(stack.transpose(0, 1).numpy()) for stack in stacks]
        return [Chain(self.network, w, b, s, self.second.numpy()) for w, b, s in zip(*by_run, strict=True)]

    def _changes(self, entering: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The change F_l of every layer's input, and that of the output (eq. 1)."""
        states = torch.empty_like(entering)
        state = torch.zeros_like(entering[0])
        for first in self.network.units:
            entry = state
            for layer in range(first, first + self.network.unit_depth):
                states[layer] = state
                state = torch.baddbmm(entering[layer], self.weights[layer], state)
            if self.network.has_shortcuts:
                state = state + entry
        return states, state

    def _returned(self, entering: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
        """The derivative of half the quadratic form by every layer's output, from that by the network's output."""
        returned = torch.empty_like(entering)
        for first in reversed(self.network.units):
            exit_ = output
            for layer in reversed(range(first, first + self.network.unit_depth)):
                returned[layer] = output
                output = torch.baddbmm(entering[layer], self.weights[layer].mT, output)
            if self.network.has_shortcuts:
                output = output + exit_
        return returned


@dataclass(frozen=True)
class Largest:
    """The eigenvalue of largest absolute value of each run's Hessian."""

    magnitude: torch.Tensor  # its absolute value, shape (runs,); never above the true one but for rounding
    vector: torch.Tensor  # an approximate eigenvector, of the weights' shape, of norm 1: a start for a nearby Hessian


def largest_magnitude(product: HessianProduct, start: torch.Tensor | None = None) -> Largest:
    """The largest absolute eigenvalue of every run by Lanczos's method with full orthogonalization.

    Each run has the result of the first check at which it has converged, so that it has the same bytes in any batch.

    Args:
        product: multiplies with the Hessians.
        start: vectors near the eigenvectors, of the weights' shape; None: random.
    """
    shape = product.weights.shape
    runs, size = shape[1], product.network.parameters
    most = min(MOST_STEPS, size)
    basis = product.weights.new_empty(runs, most, size)
    diagonal, beside = product.weights.new_empty(2, runs, most)
    # The same random vector for every run, so that a run's result does not depend on the batch.
    generator = torch.Generator().manual_seed(shape[0])
    random = torch.randn(shape[0], 1, *shape[2:], generator=generator, dtype=torch.float64).to(product.weights)
    image = _flat(random.expand(shape))
    image = image / image.norm(dim=1, keepdim=True)
    if start is not None:
        image = _flat(start) + FRESH * image
    image = torch.nn.functional.normalize(image, dim=1)
    magnitude, vector = image.new_empty(runs), torch.empty_like(image)
    open_runs = torch.ones(runs, dtype=torch.bool, device=image.device)
    for step in range(most):
        basis[:, step] = image
        known = basis[:, : step + 1]
        image = _flat(product(_unflat(image, shape)))
        diagonal[:, step] = (image * basis[:, step]).sum(dim=1)
        image = image - diagonal[:, step, None] * basis[:, step]
        if step:
            image = image - beside[:, step - 1, None] * basis[:, step - 1]
        # Run by run: the bytes of a batched product depend on the number of runs.
        image = image - torch.stack([each.mT @ (each @ of_run) for each, of_run in zip(known, image, strict=True)])
        beside[:, step] = image.norm(dim=1)
        exhausted = step + 1 == most or not torch.any(beside[:, step] > 0)
        if exhausted or (step + 1) % STEPS_BETWEEN_CHECKS == 0:
            # On the CPU, which is faster for small matrices.
            off = torch.diag_embed(beside[:, :step], offset=1)
            tridiagonal = torch.diag_embed(diagonal[:, : step + 1]) + off + off.mT
            values, vectors = (part.to(diagonal) for part in torch.linalg.eigh(tridiagonal.cpu()))
            converged = open_runs if exhausted else open_runs & _settled(values, vectors[:, -1], beside[:, step])
            best = values.abs().argmax(dim=1)
            for run in converged.nonzero()[:, 0].tolist():
                magnitude[run] = values[run, best[run]].abs()
                vector[run] = vectors[run, :, best[run]] @ known[run]
            open_runs = open_runs & ~converged
            if not open_runs.any():
                break
        image = image / beside[:, step, None].clamp_min(torch.finfo(image.dtype).tiny)
    return Largest(magnitude, _unflat(vector, shape))


def _settled(values: torch.Tensor, last: torch.Tensor, beside: torch.Tensor) -> torch.Tensor:
    """Of which runs the largest magnitude is known to :data:`ACCURACY` and the other end is certainly smaller."""
    if values.shape[1] < 4:
        return torch.zeros_like(beside, dtype=torch.bool)
    end, residual = values[:, [0, -1]], beside[:, None] * last[:, [0, -1]].abs()
    gap = (end - values[:, [1, -2]]).abs().clamp_min(torch.finfo(values.dtype).tiny)
    error = torch.minimum(residual, residual**2 / gap)
    top = end.abs().amax(dim=1, keepdim=True)
    return ((error <= ACCURACY * top) | (end.abs() + residual < top)).all(dim=1)


def _flat(direction: torch.Tensor) -> torch.Tensor:
    """(depth, runs, width, width) as (runs, parameters)."""
    return direction.transpose(0, 1).flatten(1)


def _unflat(vectors: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    depth, runs, width, _ = shape
    return vectors.view(runs, depth, width, width).transpose(0, 1).contiguous()
