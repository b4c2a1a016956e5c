"""Demystifying ResNet (Li, Jiao, Han, Weissman; arXiv 1611.01186) in plain PyTorch: the networks of Figure 5, trained.

``python -m residual.demystifying_resnet.plain`` trains three small ones. What this project computes faster must equal
this page.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

Map = Callable[[Tensor], Tensor]


def whiten(images: np.ndarray, labels: np.ndarray, width: int = 10) -> tuple[Tensor, Tensor]:
    """Appendix B: the leading principal components, of variance 1, and one-hot labels; samples in columns."""
    pixels = torch.tensor(images, dtype=torch.float64).flatten(1)
    pixels -= pixels.mean(dim=0)
    variances, axes = torch.linalg.eigh(pixels.T @ pixels / len(pixels))  # ascending
    axes = (axes[:, -width:] / variances[-width:].sqrt()).flip(1)
    axes *= axes.gather(0, axes.abs().argmax(dim=0, keepdim=True)).sign()  # signs are arbitrary: largest entry positive
    return (pixels @ axes).T, torch.eye(width, dtype=torch.float64)[:, torch.tensor(labels, dtype=torch.int64)]


def initialize(law: str, depth: int, width: int, rng: np.random.Generator) -> Tensor:
    """All W, shape (depth, width, width); zero initialization is Xavier's times 0.01 (section 4.1)."""
    gaussian = torch.from_numpy(rng.standard_normal((depth, width, width)))
    if law == "orthogonal":
        q, r = torch.linalg.qr(gaussian)
        return q * r.diagonal(dim1=1, dim2=2).sign()[:, None, :]  # with these signs, q is uniform (Haar)
    return gaussian * {"xavier": 1.0, "zero": 0.01}[law] / width**0.5


def identity(x: Tensor) -> Tensor:
    """The activation of linear networks."""
    return x


def network(
    weights: Tensor, x: Tensor, n: int, pre: Map = identity, mid: Map = identity, post: Map = identity
) -> Tensor:
    """Eq. 2 and Definition 2: the n-shortcut network, a chain of units x -> post(W^n mid(... mid(W^1 pre(x)))) + x.

    Plain networks (n = 0) lack the "+ x", and have activations where the 2-shortcut network has them (Appendix B).
    """
    for unit in weights.split(n or 2):
        h = unit[0] @ pre(x)
        for w in unit[1:]:
            h = w @ mid(h)
        x = post(h) + x if n else post(h)
    return x


def loss(weights: Tensor, x: Tensor, y: Tensor, n: int, **activations: Map) -> Tensor:
    """The loss of eq. 23: the sum of |y - f(x)|^2 over the m samples, divided by 2m."""
    return (y - network(weights, x, n, **activations)).square().sum() / (2 * x.shape[1])


def train(weights: Tensor, x: Tensor, y: Tensor, n: int, rate: float, epochs: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Gradient descent on all samples, a step an epoch: weights and loss before each step, and after the last."""
    for _ in range(epochs + 1):
        gradient, value = torch.func.grad_and_value(loss)(weights, x, y, n)
        yield weights, value
        weights = weights - rate * gradient


def hessian(weights: Tensor, x: Tensor, y: Tensor, n: int) -> Tensor:
    """Second derivatives by all N weights, (N, N), in the order of Definition 5: by layer, then column, then row."""
    gradient = torch.func.grad(lambda flat: loss(flat.view(weights.shape).mT, x, y, n))
    return torch.func.jacrev(gradient, chunk_size=50)(weights.mT.flatten())  # 50 rows at once, as memory is finite


def spectrum(hessian: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """|lambda|_max and |lambda|_(0.1), the condition number is their ratio (Appendix B); the index (section 5.2)."""
    eigenvalues = torch.linalg.eigvalsh(hessian)
    return eigenvalues.abs().max(), eigenvalues.abs().quantile(0.1), (eigenvalues < 0).double().mean()  # rounding too


def main() -> None:
    """Figure 5 in small: depth 4 instead of 16, 1000 of the 60 000 images, 100 of 1000 epochs, one run."""
    import resaudit

    images, labels = resaudit.training_set("mnist")
    width = 10  # at least the number of classes: the images have as many components, the labels zeros behind
    x, y = whiten(images[:1000], labels[:1000], width)
    # Shortcut depth, initialization and the best learning rate of a few for this small run.
    networks = {"2-shortcut": (2, "zero", 1.0), "orthogonal": (0, "orthogonal", 0.3), "xavier": (0, "xavier", 0.1)}
    print("network      epoch  loss    condition number  index")
    for name, (n, law, rate) in networks.items():
        start = initialize(law, 4, width, np.random.default_rng(1))
        for epoch, (weights, value) in enumerate(train(start, x, y, n, rate, 100)):
            if epoch in (0, 10, 100):
                largest, tenth, index = spectrum(hessian(weights, x, y, n))
                print(f"{name:12} {epoch:5}  {value:.4f}  {largest / tenth:16.1f}  {index:.2f}")


if __name__ == "__main__":
    main()
