"""Sharp scaling factor tau (Zhang, Yu, Yi, Chen, Liu; arXiv 1903.07120) in plain PyTorch: section 2's network, trained.

``python -m residual.stable_scaling.plain`` trains it at two depths and two tau. What this project computes faster must
equal this page.
"""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

Weights = tuple[Tensor, list[Tensor], Tensor]
"""A (m, inputs), W_1 ... W_L (m, m), B (outputs, m)."""


def draw(inputs: int, m: int, depth: int, outputs: int, residual: bool, generator: torch.Generator) -> Weights:
    """Section 2: A and W_L have entries N(0, 2/m), W_l with l < L N(0, 1/m), B N(0, 1/outputs).

    Without shortcuts W_l needs N(0, 2/m), or the norm of h_l would shrink (He et al. 2015).
    """
    first = torch.randn(m, inputs, generator=generator) * (2 / m) ** 0.5
    middle = torch.randn(depth - 1, m, m, generator=generator) * ((1 if residual else 2) / m) ** 0.5
    last = torch.randn(m, m, generator=generator) * (2 / m) ** 0.5
    return first, [*middle, last], torch.randn(outputs, m, generator=generator) * (1 / outputs) ** 0.5


def hidden(weights: Weights, x: Tensor, tau: float | None) -> list[Tensor]:
    """h_0 = relu(A x), h_l = relu((I + tau W_l) h_(l-1)) for l < L, h_L = relu(W_L h_(L-1)); samples in columns.

    Without shortcuts (tau = None) every layer is relu(W_l h_(l-1)).
    """
    first, layers, _ = weights
    states = [torch.relu(first @ x)]
    for w in layers[:-1]:
        states.append(torch.relu(w @ states[-1] if tau is None else states[-1] + tau * w @ states[-1]))
    return [*states, torch.relu(layers[-1] @ states[-1])]


def loss(weights: Weights, x: Tensor, y: Tensor, tau: float | None) -> Tensor:
    """|B h_L - y|^2 / 2, the mean over the samples."""
    return (weights[2] @ hidden(weights, x, tau)[-1] - y).square().sum() / (2 * x.shape[-1])


def train(
    weights: Weights, tau: float | None, rate: float, batches: Iterable[tuple[Tensor, Tensor]]
) -> Iterator[tuple[Tensor, list[Tensor]]]:
    """SGD on W_1 ... W_L, while A and B stay (Theorem 5): each batch's loss before its step, and the layers after it.

    The rate is in units of outputs/m, as in Theorem 5.
    """
    first, layers, readout = weights
    layers = [w.clone().requires_grad_() for w in layers]
    optimizer = torch.optim.SGD(layers, lr=rate * len(readout) / len(first))
    for x, y in batches:
        optimizer.zero_grad()
        value = loss((first, layers, readout), x, y, tau)
        value.backward()
        optimizer.step()
        yield value.detach(), layers


def batches(images: Tensor, labels: Tensor, size: int, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """One epoch in random order: inputs of norm 1 (section 2) and one-hot labels, in columns."""
    pixels = images.flatten(1).float()
    for chosen in torch.randperm(len(pixels), generator=generator).split(size):
        yield torch.nn.functional.normalize(pixels[chosen]).T, torch.eye(10)[:, labels[chosen]]


def main() -> None:
    """Norms at the start (Theorems 2, 4), and 100 steps on MNIST at one learning rate (section 5.1); nan: diverged."""
    import resaudit

    images, labels = (torch.tensor(part) for part in resaudit.training_set("mnist"))
    labels = labels.long()
    print("   L  tau       max |h_l|  first loss  mean loss of steps 91 to 100")
    for power in (0.5, 0.25):
        for depth in (10, 100):
            generator, tau = torch.Generator().manual_seed(1), depth**-power
            weights = draw(784, 64, depth, 10, True, generator)
            every = list(batches(images[:3200], labels[:3200], 32, generator))
            largest = max(h.norm(dim=0).max() for h in hidden(weights, every[0][0], tau)[:-1])
            losses = torch.stack([value for value, _ in train(weights, tau, 3.0, every)])
            print(f"{depth:4}  L^-{power:<5}  {largest:9.2f}  {losses[0]:10.3g}  {losses[-10:].mean():.3g}")


if __name__ == "__main__":
    main()
