"""One loss and gradient of an ensemble of networks with ReLUs on a GPU: fused kernel, eager autograd and torch.compile.

python -m benchmarks.relu_gradient_cuda [--samples results/whiten/ID/samples.npz] [--runs N] [--no-compile]

As benchmarks.relu_gradient, for the card: 2-shortcut networks with ReLUs at mid, 60 000 samples, float32, the runs of
one ensemble at once; of the peers the quickest of several numbers of samples at once counts. The most that the card
does is timed in the same run: multiplications and additions in registers, and a copy in its memory, of which a layer
needs 8 bytes a feature and sample (what enters it is written once and read once). Then Figure 8 at scale paper: a few
epochs of real training at each of its depths, none of whose runs diverges, scaled to 1000.

Needs torch, triton and NumPy only. Without --samples the data are random numbers of the same size: time does not
depend on them.
"""

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import torch
import triton
import triton.language as tl
from benchmarks.autograd import peers

from resaudit.data.whitening import Whitened
from residual.demystifying_resnet.networks.initialization import initial_weights
from residual.demystifying_resnet.networks.network import Network, network_named
from residual.demystifying_resnet.training.ensemble import descend
from residual.demystifying_resnet.training.kernels.cuda import TritonObjective
from residual.demystifying_resnet.training.sampled import SampledObjective

ROUNDS = 7
DEPTHS = (4, 16, 64)
FIG08_DEPTHS = (4, 8, 16, 32, 64)
FIG08_RUNS = 200
FIG08_EPOCHS = 1000
EPOCHS_TIMED = 20
SAMPLES_AT_ONCE = (1000, 4000, 15_000)
PEAK_ROUNDS = 20_000
CUDA = torch.device("cuda")


def main() -> None:
    """Print GFLOP/s of each, the ratios, and an estimate for Figure 8."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", help="samples.npz of a run; default random numbers")
    parser.add_argument("--runs", type=int, default=FIG08_RUNS)
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()
    whitened = samples(arguments.samples)
    data = f"{whitened.inputs.shape[1]} samples of {arguments.samples or 'random numbers, not of images'}"
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    print(f"{data}, {arguments.runs} runs")
    for depth in DEPTHS:
        report(network_named("2-shortcut-relu", depth, 10), whitened, arguments.runs, not arguments.no_compile)
    report_figure(whitened)


def samples(path: str | None) -> Whitened:
    """Whitened samples from a file, or random ones."""
    if path:
        with np.load(path) as file:
            return Whitened(file["inputs"], file["labels"], file["explained_variance"])
    generator = np.random.default_rng(1)
    inputs = generator.standard_normal((10, 60_000))
    return Whitened(inputs, generator.integers(0, 10, 60_000).astype(np.uint8), np.full(10, 0.1))


def report(network: Network, whitened: Whitened, runs: int, compiled: bool) -> None:
    """Time one depth and print it."""
    weights = initial_weights(network, "xavier", 0.3, 1, runs).to(CUDA)
    fused = TritonObjective(network, whitened, CUDA)
    exact = SampledObjective.of(network, whitened, CUDA, torch.float64)(weights[:, :2])[1]
    found = fused(weights)[1]
    error = float((found[:, :2] - exact).norm() / exact.norm())
    assert error <= 1e-5, f"the kernel is {error:.1e} off"
    again = bool(torch.equal(fused(weights)[1], found))
    contestants: dict[str, Callable[[], object]] = {"fused": lambda: fused(weights), "peak": Peak(), "copy": Copy()}
    # Else the programs of the depths before would count against the number that torch keeps.
    torch.compiler.reset()
    compiler = partial(torch.compile, dynamic=False) if compiled else None
    for name, gradient in peers(SampledObjective.of(network, whitened, CUDA), SAMPLES_AT_ONCE, compiler).items():
        off = float((gradient(weights) - found).norm() / found.norm())
        assert off < 1e-4, f"{name} must answer the same question; it is {off:.1e} off"
        contestants[name] = lambda gradient=gradient: gradient(weights)  # type: ignore[misc]
    seconds = by_turns(contestants)
    operations = 6.0 * network.parameters * runs * whitened.inputs.shape[1]
    moved = 8.0 * network.depth * network.width * runs * whitened.inputs.shape[1] / seconds["fused"]
    most, most_moved = Peak.operations() / seconds["peak"], Copy.bytes / seconds["copy"]
    speed = {name: operations / took * 1e-9 for name, took in seconds.items() if name not in ("peak", "copy")}
    print(
        f"depth {network.depth}: fused {1e3 * seconds['fused']:.2f} ms = {speed['fused']:.0f} GFLOP/s = "
        f"{1e9 * speed['fused'] / most:.0%} of {most * 1e-9:.0f}; its states are {moved / most_moved:.0%} of "
        f"{most_moved * 1e-9:.0f} GB/s; {error:.1e} off float64; the same bits again: {again}"
    )
    for peer in ("eager", "compiled"):
        tried = {name: rate for name, rate in speed.items() if name.startswith(peer)}
        if tried:
            best = max(tried, key=tried.__getitem__)
            print(f"  {best} at once: {tried[best]:.0f} GFLOP/s; fused / {peer} {speed['fused'] / tried[best]:.1f}")


def report_figure(whitened: Whitened) -> None:
    """Estimate Figure 8 at scale paper from a few epochs of each of its ensembles."""
    whole = 0.0
    for depth in FIG08_DEPTHS:
        for name, scale in (("2-shortcut-relu", 0.01), ("orthogonal-relu", 1.0), ("xavier-relu", 1.0)):
            network = network_named(name, depth, 10)
            objective = TritonObjective(network, whitened, CUDA)
            weights = initial_weights(network, "xavier", scale, 1, FIG08_RUNS).to(CUDA)
            rates = torch.full((FIG08_RUNS,), 1e-6, dtype=torch.float64, device=CUDA)

            def train(
                objective: TritonObjective = objective, weights: torch.Tensor = weights, rates: torch.Tensor = rates
            ) -> None:
                descend(objective, weights, rates, EPOCHS_TIMED)

            took = by_turns({"train": train}, rounds=1)["train"] * (FIG08_EPOCHS + 1) / (EPOCHS_TIMED + 1)
            print(f"fig08 {name} depth {depth}: {took:.1f} s for {FIG08_EPOCHS} epochs of {FIG08_RUNS} runs")
            whole += took
    print(f"fig08 at scale paper: {whole / 60:.1f} minutes on this card if no run diverged")


def by_turns(contestants: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Time each in turn by the card's clock, after one warm-up, and return the median seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for counted in range(-1, rounds):
        for name, run in contestants.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            run()
            end.record()
            torch.cuda.synchronize()
            if counted >= 0:
                seconds[name].append(1e-3 * start.elapsed_time(end))
    return {name: median(times) for name, times in seconds.items()}


@triton.jit
def multiply_and_add(found, rounds, THREADS: tl.constexpr):  # noqa: N803
    """Multiplications and additions, four independent ones a thread and eight such vectors."""
    at = tl.program_id(0) * 4 * THREADS + tl.arange(0, 4 * THREADS)
    a = at.to(tl.float32) * 1e-9
    b, c, d, e, f, g, h = a + 1, a + 2, a + 3, a + 4, a + 5, a + 6, a + 7
    for _ in range(rounds):
        a, b, c, d = a * 0.999 + 0.001, b * 0.999 + 0.001, c * 0.999 + 0.001, d * 0.999 + 0.001
        e, f, g, h = e * 0.999 + 0.001, f * 0.999 + 0.001, g * 0.999 + 0.001, h * 0.999 + 0.001
    tl.store(found + at, a + b + c + d + e + f + g + h)


class Peak:
    """Operations in registers of every multiprocessor."""

    THREADS = 256

    def __init__(self) -> None:
        self._found = torch.empty(4 * self.THREADS * self.programs(), device=CUDA)

    @staticmethod
    def programs() -> int:
        """Four waves of as many as there is room for."""
        return 4 * 4 * torch.cuda.get_device_properties(CUDA).multi_processor_count

    @classmethod
    def operations(cls) -> float:
        """That one call takes."""
        return 2.0 * 8 * 4 * cls.THREADS * cls.programs() * PEAK_ROUNDS

    def __call__(self) -> None:
        """Multiply and add."""
        grid, warps = (self.programs(),), self.THREADS // 32
        multiply_and_add[grid](self._found, PEAK_ROUNDS, self.THREADS, num_warps=warps, enable_fp_fusion=True)


class Copy:
    """A copy within the card's memory."""

    bytes = 2.0 * 2**31
    """Read and written."""

    def __init__(self) -> None:
        self._from, self._to = (torch.zeros(2**29, device=CUDA) for _ in range(2))

    def __call__(self) -> None:
        """Copy."""
        self._to.copy_(self._from)


if __name__ == "__main__":
    main()
