"""One loss and gradient of an ensemble of networks with ReLUs: the fused kernel, eager autograd and torch.compile.

python -m benchmarks.relu_gradient [--threads N] [--runs N] [--no-compile]

2-shortcut networks with ReLUs at mid, all 60 000 images, float32. Of the peers the quickest of several numbers of
samples at once counts. A layer's forward product, its backward product and its gradient take 6 width^2 operations a
sample; what they are a share of is the most that this machine's cores do, timed by a loop of independent
multiplications and additions in registers in the same run.
"""

import argparse
import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from benchmarks.common import by_turns, machine, whitened_mnist

from resaudit.data.whiten import Whitened
from residual.demystifying_resnet.networks.functions import output
from residual.demystifying_resnet.networks.network import Network, network_named
from residual.demystifying_resnet.training.ensemble import initial_weights
from residual.demystifying_resnet.training.fused import NativeObjective, lanes, library
from residual.demystifying_resnet.training.sampled import SampledObjective

ROUNDS = 5
PEAK_ROUNDS = 20_000_000
DEPTHS = (4, 16, 64)
SAMPLES_AT_ONCE = (1000, 4000, 15_000)
Gradient = Callable[[torch.Tensor], torch.Tensor]
Loss = Callable[..., torch.Tensor]


def main() -> None:
    """Print GFLOP/s of each and the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    whitened, _ = whitened_mnist()
    print(f"{machine()}, vectors of {lanes()} floats, {arguments.runs} runs")
    for depth in DEPTHS:
        network = network_named("2-shortcut-relu", depth, 10)
        report(network, whitened, arguments)


def report(network: Network, whitened: Whitened, arguments: argparse.Namespace) -> None:
    """Time one depth and print it."""
    weights = initial_weights(network, "xavier", 0.3, 1, arguments.runs)
    fused = NativeObjective(network, whitened, arguments.threads)
    contestants: dict[str, Callable[[], object]] = {
        "fused": lambda: fused(weights),
        "peak": lambda: peak(arguments.threads),
    }
    autograd = SampledObjective.of(network, whitened, torch.device("cpu"))
    compiler = None if arguments.no_compile else torch.compile
    for name, gradient in peers(autograd, SAMPLES_AT_ONCE, compiler).items():
        error = (gradient(weights) - fused(weights)[1]).norm() / fused(weights)[1].norm()
        assert error < 1e-4, f"{name} must answer the same question; it is {error} off"
        contestants[name] = lambda gradient=gradient: gradient(weights)  # type: ignore[misc]
    seconds = by_turns(ROUNDS, **contestants)
    operations = 6.0 * network.parameters * arguments.runs * whitened.inputs.shape[1] * 1e-9
    most = 24e-9 * (lanes() or 0) * PEAK_ROUNDS * arguments.threads / seconds["peak"]
    speed = {name: operations / took for name, took in seconds.items() if name != "peak"}
    print(f"depth {network.depth}: peak {most:.0f} GFLOP/s; fused {speed['fused']:.0f} = {speed['fused'] / most:.0%}")
    for peer in ("eager", "compiled"):
        tried = {name: rate for name, rate in speed.items() if name.startswith(peer)}
        if tried:
            best = max(tried, key=tried.__getitem__)
            print(f"  {best} at once: {tried[best]:.1f} GFLOP/s; fused / {peer} {speed['fused'] / tried[best]:.1f}")


def peers(
    objective: SampledObjective, samples_at_once: Sequence[int], compiler: Callable[[Loss], Loss] | None
) -> dict[str, Gradient]:
    """Gradients of an ensemble by ``eager N`` and, with a compiler, ``compiled N``, N samples at once."""

    def summed_loss(weights: torch.Tensor, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return 0.5 * ((output(weights, objective.network, inputs) - targets) ** 2).sum()

    losses: dict[str, Loss] = {"eager": summed_loss} | ({"compiled": compiler(summed_loss)} if compiler else {})
    return {f"{kind} {n}": _gradient_of(loss, objective, n) for kind, loss in losses.items() for n in samples_at_once}


def _gradient_of(loss: Loss, objective: SampledObjective, at_once: int) -> Gradient:
    count = objective.inputs.shape[1]

    def gradient(weights: torch.Tensor) -> torch.Tensor:
        variable, total = weights.float().requires_grad_(), torch.zeros_like(weights)
        for start in range(0, count, at_once):
            part = slice(start, start + at_once)
            value = loss(variable, objective.inputs[:, part], objective.targets[:, part])
            total += torch.autograd.grad(value, variable)[0]
        return total / count

    return gradient


def peak(threads: int) -> None:
    """Multiply and add in the registers of every core; ctypes lets go of Python's lock."""
    loaded = library()
    assert loaded is not None
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: loaded.resaudit_peak(ctypes.c_int64(PEAK_ROUNDS), lanes()), range(threads)))


if __name__ == "__main__":
    main()
