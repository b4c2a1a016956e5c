"""Stochastic gradient descent with momentum on all parameters of a network at once, as vectors."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from residual.images.layout import memory_format


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
        for parameter, values in zip(self._parameters, self.vector.split_with_sizes(self.sizes), strict=True):
            if _inputs_last(parameter):
                outputs, inputs, height, width = parameter.shape
                parameter.data = values.view(outputs, height, width, inputs).permute(0, 3, 1, 2)
            else:
                parameter.data = values.view(parameter.shape)

    @property
    def sizes(self) -> list[int]:
        """Numbers of each parameter."""
        return [p.numel() for p in self._parameters]

    @property
    def tensors(self) -> dict[str, nn.Parameter]:
        """The parameters by name."""
        return dict(zip(self.names, self._parameters, strict=True))

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


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors as one vector, kernels as :func:`memory_format` says; what lies so is copied once."""
    return torch.cat([(t.permute(0, 2, 3, 1) if _inputs_last(t) else t).reshape(-1) for t in tensors])


def _inputs_last(tensor: Tensor) -> bool:
    return tensor.ndim == 4 and memory_format(tensor.device) == torch.channels_last
