"""Importance of Shortcut Connections (Liu et al., arXiv 1909.04653) in plain PyTorch: its two-layer network, trained.

``python -m residual.shortcut_importance.plain`` estimates success rates as in Table 1. What this project computes
faster must equal this page.
"""

from math import pi

import torch
from torch import Tensor
from torch.nn.functional import normalize

Network = tuple[Tensor, Tensor]
"""A filter v (..., p) of length 1 and output weights a (..., k); leading dimensions are those of runs."""


def output(network: Network, z: Tensor) -> Tensor:
    """Eqs. 4 and 6: the sum over patches j of a_j relu(Z_j.v), of inputs Z (samples, k, p)."""
    v, a = network
    return torch.relu(z @ v) @ a


def population_loss(student: Network, teacher: Network) -> Tensor:
    """Eq. 7: half the mean square of student minus teacher over Z ~ N(0, I), in closed form (Proposition 16)."""
    (v, a), (v_star, a_star) = student, teacher
    v = normalize(v, dim=-1)
    phi = 2 * torch.atan2((v - v_star).norm(dim=-1), (v + v_star).norm(dim=-1))  # the angle; acos is off near 0
    g = (pi - phi) * torch.cos(phi) + torch.sin(phi)
    squares = (pi - 1) * ((a * a).sum(-1) + (a_star * a_star).sum(-1)) - 2 * (g - 1) * (a * a_star).sum(-1)
    return (squares + (a.sum(-1) - a_star.sum(-1)) ** 2) / (4 * pi)


def train(
    student: Network, teacher: Network, rate: float, steps: int, stage_one: int = 0, ratio: float = 1.0
) -> Network:
    """Eq. 8: gradient descent that scales v to length 1 after every step; the student at the end.

    The ResNet's filter is v = 1/sqrt(p) + w and starts at w = 0, so a step of w is one of v. In stage I, the warm-up,
    the learning rate of the filter is that of a times ``ratio`` (Theorem 2).
    """
    v, a = student
    for step in range(steps):
        v, a = v.detach().requires_grad_(), a.detach().requires_grad_()
        by_v, by_a = torch.autograd.grad(population_loss((v, a), teacher).sum(), (v, a))
        v = normalize(v - (ratio if step < stage_one else 1.0) * rate * by_v, dim=-1)
        a = a - rate * by_a
    return v.detach(), a.detach()


def fitted_teacher(k: int, p: int) -> Network:
    """v* at 86.76 degrees to the shortcut 1/sqrt(p), |a*|^2 = 4.23 k, 1.a* = 0.413 |a*|.

    The paper's own numbers are lost. These were fitted to its Table 1, so that agreeing with it is no evidence.
    """
    angle, length = torch.tensor(86.76).double().deg2rad(), (4.23 * k) ** 0.5
    across = [normalize(torch.eye(size).double()[0] - 1 / size, dim=0) for size in (p, k)]  # orthogonal to 1
    v = angle.cos() / p**0.5 + angle.sin() * across[0]
    return v, length * (0.413 / k + (1 - 0.413**2 / k) ** 0.5 * across[1])


def main() -> None:
    """Proposition 16 by Monte Carlo; then how many of 200 runs reach the teacher, for two numbers k of patches."""
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    p, runs = 8, 200
    for k in (16, 25):
        teacher, rate = fitted_teacher(k, p), 0.3 / k
        radius = teacher[1].sum().abs() / k**0.5 * torch.rand(runs, 1) ** (1 / k)
        a = radius * normalize(torch.randn(runs, k), dim=1)  # uniform in the ball of radius |1.a*|/sqrt(k) (section 2)
        shortcut, sphere = torch.full((runs, p), p**-0.5), normalize(torch.randn(runs, p), dim=1)
        one, z = (sphere[0], a[0]), torch.randn(200_000 // k, k, p)
        half = (output(one, z) - output(teacher, z)).square() / 2
        error = (half.std() / len(half) ** 0.5).item()
        print(f"k = {k}: loss {population_loss(one, teacher):.2f}, by Monte Carlo {half.mean():.2f} +- {error:.2f}")
        for name, v, stage_one in (("ResNet, warm-up", shortcut, 50 * k), ("ResNet", shortcut, 0), ("CNN", sphere, 0)):
            end = train((v, a), teacher, rate, 300 * k, stage_one, 0.01 * rate)
            reached = ((end[0] - teacher[0]).norm(dim=1) < 0.05) & ((end[1] - teacher[1]).norm(dim=1) < 0.05)
            print(f"  {name}: {reached.double().mean():.1%} of {runs} runs reach the teacher")


if __name__ == "__main__":
    main()
