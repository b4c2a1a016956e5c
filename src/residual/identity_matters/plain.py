"""Identity Matters in Deep Learning (Hardt, Ma; arXiv 1611.04231) in plain PyTorch: its three networks.

``python -m residual.identity_matters.plain`` uses them. What this project computes faster must equal this page.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, conv2d, cross_entropy, leaky_relu, normalize, pad


def excess(a: Tensor, target: Tensor, sigma: Tensor) -> Tensor:
    """Eq. 2.4: f(A) - C = |((I + A_l) ... (I + A_1) - R) Sigma^(1/2)|_F^2; A (l, d, d), R and Sigma (d, d)."""
    product = torch.eye(len(target), dtype=a.dtype)
    for layer in a:
        product = product + layer @ product  # h_j = h_(j-1) + A_j h_(j-1), eq. 2.1
    return ((product - target) @ sigma * (product - target)).sum()


def dominance(a: Tensor, target: Tensor, sigma: Tensor, tau: float) -> tuple[Tensor, Tensor]:
    """Both sides of eq. 2.3, which says left >= right wherever every |A_j| <= tau < 1 (Theorem 2.2)."""
    gradient, value = torch.func.grad_and_value(excess)(a, target, sigma)
    factor = 4 * len(a) * (1 - tau) ** (2 * len(a) - 2) * torch.linalg.eigvalsh(sigma)[0]
    return gradient.square().sum(), factor * value


def descend(a: Tensor, target: Tensor, sigma: Tensor, rate: float, steps: int) -> Iterator[Tensor]:
    """Gradient descent on f/2: A before each step, and after the last."""
    for _ in range(steps + 1):
        yield a
        a = a - rate / 2 * torch.func.grad(excess)(a, target, sigma)


def block(h: Tensor, points: Tensor, change: Tensor, threshold: float) -> Tensor:
    """V relu(U h + s), eq. 3.1, with the U, V, s of Lemma B.1: the change of each of these points, zero at others."""
    v = change / (points.square().sum(dim=1, keepdim=True) - threshold)
    return torch.relu(h @ points.T - threshold) @ v


def memorize(x: Tensor, labels: Tensor, q: Tensor, rho: float) -> Tensor:
    """Outputs (n, classes) of Theorem 3.2's network at the points x (n, k) whose labels it was built to give."""
    h, k = x, x.shape[1]
    for first in range(0, len(x), k):  # each block moves k points to the surrogate labels q (classes, k) of theirs
        points, goals = x[first : first + k], q[labels[first : first + k]]
        h = h + block(h, points, goals - points, 1 - 2 * rho)  # eq. 3.6
    return block(h, q, torch.eye(len(q), dtype=q.dtype), 0.5)  # q_j to e_j, eq. B.3


def all_conv(kernels: list[Tensor], last: Tensor, x: Tensor, leak: float = 0.0, last_relu: bool = False) -> Tensor:
    """Table 1: blocks x + C2 relu(C1 x), no batch norm; images (n, 3, 32, 32) in, (n, classes) out."""
    x = conv2d(x, kernels[0], padding=1)
    for c1, c2 in zip(kernels[1::2], kernels[2::2], strict=True):
        halves = len(c1) > c1.shape[1] > 16  # first block of stages 2 and 3; pads as the code that section 4.1 names
        h = conv2d(pad(x, (0, 1, 0, 1)), c1, stride=2) if halves else conv2d(x, c1, padding=1)
        zeros = (len(c1) - x.shape[1]) // 2  # channels on either side
        shortcut = pad(avg_pool2d(x, 2) if halves else x, (0, 0, 0, 0, zeros, zeros))
        x = shortcut + conv2d(leaky_relu(h, leak), c2, padding=1)
    return (leaky_relu(x, leak) if last_relu else x).mean(dim=(2, 3)) @ last


def draw(blocks: int, classes: int) -> tuple[list[Tensor], Tensor]:
    """Section 4.1: kernels k x k of c outputs are N(0, 1/(k^2 c)^2); the last, random layer is never trained."""
    kernels = [torch.randn(16, 3, 3, 3) * (2 / (9 * 16)) ** 0.5]
    for inputs, c in pairwise((16, *[64] * blocks, *[128] * blocks, *[256] * blocks)):
        kernels += [torch.randn(c, inputs, 3, 3) / (9 * c), torch.randn(c, c, 3, 3) / (9 * c)]
    return kernels, (2 * torch.rand(256, classes) - 1) * (3 / 256) ** 0.5


def train(kernels: list[Tensor], last: Tensor, steps: Iterable[tuple[Tensor, Tensor, float]]) -> None:
    """Section 4.1, in place: momentum 0.9, weight decay 1e-4; a step has 128 images, labels and its learning rate."""
    optimizer = torch.optim.SGD([kernel.requires_grad_() for kernel in kernels], momentum=0.9, weight_decay=1e-4)
    for images, labels, rate in steps:
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        cross_entropy(all_conv(kernels, last, images), labels).backward()
        optimizer.step()


def main() -> None:
    """Eq. 2.3 along a training, 2000 images with random labels memorized, and the weights of Table 1's network."""
    import resaudit

    torch.manual_seed(1)
    target, sigma = torch.matrix_exp(0.3 * torch.randn(10, 10)), torch.eye(10)  # det R > 0
    for step, a in enumerate(descend(torch.zeros(8, 10, 10), target, sigma, 0.01, 200)):
        if step % 50 == 0:
            left, right = dominance(a, target, sigma, torch.linalg.matrix_norm(a, 2).max().item())
            print(f"step {step:3}: excess {excess(a, target, sigma):.2e}; eq. 2.3: {left:.2e} >= {right:.2e}")
    images, _ = resaudit.training_set("mnist")
    x, labels = normalize(torch.tensor(images[:2000]).flatten(1).double()), torch.randint(10, (2000,))
    rho = torch.pdist(x).min().item() ** 2 / 6  # with the lemma's 1/3 points disturb each other (docs/findings)
    outputs = memorize(x, labels, normalize(torch.randn(10, 784).double()), rho)
    print(f"Theorem 3.2's network: {(outputs.argmax(dim=1) != labels).sum()} of 2000 labels are wrong")
    print(f"Table 1's convolutions have {sum(kernel.numel() for kernel in draw(9, 10)[0])} weights")


if __name__ == "__main__":
    main()
