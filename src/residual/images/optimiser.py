"""Stochastic gradient descent with momentum on all parameters of a network at once, as vectors."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from residual.images.networks.layers import memory_format


class FlatParameters:
    """A network's trainable parameters as parts of one vector; kernels lie in it as :func:`memory_format` says.

    Args:
        network: a network on its device; from now on its parameters are views.

    Attributes:
        names: the parameters' names, in the vector's order.
        vector: shape (n,).
    """

    def __init__(self, network: nn.Module) -> None:
        trained = [(name, p) for name, p in network.named_parameters() if p.requires_grad]
        # Scalars last: behind one, no kernel would lie at a multiple of 16 bytes, as cuDNN's fast algorithms want it.
        parameters = dict(sorted(trained, key=lambda named: -named[1].ndim))
        self.names = tuple(parameters)
        self._parameters = list(parameters.values())
        self.vector = joined([p.detach() for p in self._parameters])
        for parameter, part in zip(self._parameters, self._parts(self.vector), strict=True):
            parameter.data = part

    def _parts(self, vector: Tensor) -> Iterator[Tensor]:
        """Views of a vector in this layout, one a parameter, in its shape."""
        last = _inputs_last(self.vector.device)
        for parameter, values in zip(self._parameters, vector.split_with_sizes(self.sizes), strict=True):
            if last and parameter.ndim == 4:
                outputs, inputs, height, width = parameter.shape
                yield values.view(outputs, height, width, inputs).permute(0, 3, 1, 2)
            else:
                yield values.view(parameter.shape)

    @property
    def sizes(self) -> list[int]:
        """Numbers of each parameter."""
        return [p.numel() for p in self._parameters]

    @property
    def tensors(self) -> dict[str, nn.Parameter]:
        """The parameters by name."""
        return dict(zip(self.names, self._parameters, strict=True))

    def contiguous(self, vector: Tensor) -> Tensor:
        """A vector of one number a parameter with every tensor contiguous, as on any device, shape (n,)."""
        return torch.cat([part.contiguous().view(-1) for part in self._parts(vector)])

    def laid_out(self, values: Tensor) -> Tensor:
        """What :meth:`contiguous` gives, in this vector's layout, shape (n,)."""
        parts = values.split_with_sizes(self.sizes)
        return joined([part.view(p.shape) for part, p in zip(parts, self._parameters, strict=True)], self.vector.device)

    def gradient(self, loss: Tensor) -> Tensor:
        """The gradient of a loss, in the vector's order, shape (n,)."""
        return joined(torch.autograd.grad(loss, self._parameters))

    def spread(self, values: Sequence[float]) -> Tensor:
        """One number a parameter, repeated for all of its entries, shape (n,)."""
        sizes = torch.tensor(self.sizes, device=self.vector.device)
        return torch.tensor(values, device=self.vector.device, dtype=self.vector.dtype).repeat_interleave(sizes)


class MomentumSgd:
    """torch.optim.SGD without dampening, in a few operations however many parameters there are.

    The update is g <- g + c w, v <- m v + g, w <- w - r f (g + m v with Nesterov's momentum, else v), with the weight
    decay c, the momentum m, the learning rate r, and a factor f of each parameter's rate.

    Args:
        parameters: w.
        momentum: m.
        nesterov: whether momentum is Nesterov's.
        weight_decay: c.
        decayed: ``all`` parameters, or ``convolutions``: those with four dimensions.
        factors: f by parameter, where it is not 1.

    Attributes:
        velocity: v, shape (n,).
        learning_rate: r, on the device, shape ().
    """

    def __init__(
        self,
        parameters: FlatParameters,
        momentum: float,
        nesterov: bool,
        weight_decay: float,
        decayed: str,
        factors: dict[str, float],
    ) -> None:
        self._parameters, self._momentum, self._nesterov = parameters, momentum, nesterov
        self.velocity = torch.zeros_like(parameters.vector)
        self.learning_rate = torch.zeros((), device=self.velocity.device, dtype=self.velocity.dtype)
        decays = [weight_decay * (decayed == "all" or p.ndim == 4) for p in parameters.tensors.values()]
        # One vector only where parameters differ.
        self._decay = decays[0] if len(set(decays)) == 1 else parameters.spread(decays)
        self._factor = parameters.spread([factors.get(n, 1.0) for n in parameters.names]) if factors else None

    def step(self, gradient: Tensor) -> None:
        """Update the parameters; the gradient, shape (n,), is overwritten."""
        weights = self._parameters.vector
        if isinstance(self._decay, float):
            gradient.add_(weights, alpha=self._decay)
        else:
            gradient.addcmul_(weights, self._decay)
        self.velocity.mul_(self._momentum).add_(gradient)
        direction = gradient.add_(self.velocity, alpha=self._momentum) if self._nesterov else self.velocity
        if self._factor is not None:
            direction = direction * self._factor
        weights.addcmul_(direction, self.learning_rate, value=-1.0)


def joined(tensors: Sequence[Tensor], device: torch.device | None = None) -> Tensor:
    """Tensors as one vector, kernels as :func:`memory_format` says; what lies so is copied once.

    Args:
        tensors: the tensors.
        device: whose layout; None: the tensors'.
    """
    last = _inputs_last(device or tensors[0].device)
    return torch.cat([(t.permute(0, 2, 3, 1) if last and t.ndim == 4 else t).reshape(-1) for t in tensors])


def _inputs_last(device: torch.device) -> bool:
    return memory_format(device) == torch.channels_last
