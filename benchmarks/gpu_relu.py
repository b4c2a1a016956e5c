"""Networks with ReLUs of "Demystifying ResNet" on a GPU: the torch path, against the CPU's and the compiled kernel.

python -m benchmarks.gpu_relu [--steps N] [--samples N] [--minutes N]   --rehearse: in small, a CPU in the GPU's place

Full-batch gradient descent on made images of ten classes, whitened as MNIST is: two runs at each of two rates, all at
once. Losses' differences are relative to the CPU's torch path, the greatest of all runs; ``gradient`` is relative to
double precision on the CPU, at the initial weights. ``same again``, ``resumed``: whether a second training, and one
stopped half-way, end with the same bytes. Last, spectra of exact Hessians, which only linear networks have.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

from resaudit.data.whiten import Moments, Whitened, whiten
from residual.demystifying_resnet.networks.gradient_descent import Objective, descend
from residual.demystifying_resnet.networks.hessians import spectra_along
from residual.demystifying_resnet.networks.network import network_named
from residual.demystifying_resnet.networks.trajectory import Trajectory
from residual.demystifying_resnet.training.ensemble import initial_weights
from residual.demystifying_resnet.training.fused import kernel_of
from residual.demystifying_resnet.training.sampled import SampledObjective, sampled_objective
from residual.descent import Descent

NETWORKS = {"2-shortcut-relu": 0.3, "xavier-relu": 1.0, "orthogonal-relu": 1.0}
"""With the scale of the initial weights; the paper's 0.01 of the first moves little in few steps."""
DEPTHS, RATES, RUNS, AT = (4, 16), (0.1, 0.4), 2, (1, 10, 100)
CPU = torch.device("cpu")


def made(samples: int) -> Whitened:
    """Noisy images of ten patterns, whitened."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, samples, dtype=np.uint8)
    patterns = rng.uniform(0, 160, (10, 28, 28)).astype(np.float32)
    noise = rng.standard_normal((samples, 28, 28), dtype=np.float32)
    return whiten(np.clip(patterns[labels] + 40 + 60 * noise, 0, 255).astype(np.uint8), labels, 10, centered=True)


def trained(objective: Objective, weights: torch.Tensor, steps: int, stop: int = 0) -> Trajectory:
    """Train all runs at all rates; with ``stop``, stop before that step and resume."""
    weights = weights.repeat(1, len(RATES), 1, 1)
    rates = torch.tensor(RATES, dtype=weights.dtype).repeat_interleave(RUNS).to(weights.device)
    kept: list[Descent[np.ndarray]] = []

    def after(state: Callable[[], Descent[np.ndarray]]) -> None:
        if stop and int((now := state()).step) == stop:
            kept.append(now)
            raise KeyboardInterrupt

    try:
        return descend(objective, weights, rates, steps, (steps,), after_epoch=after if stop else lambda _: None)
    except KeyboardInterrupt:
        return descend(objective, weights, rates, steps, (steps,), start=kept[0])


def said(same: bool) -> str:
    return "yes" if same else "NO"


def compared(name: str, depth: int, data: Whitened, steps: int, card: torch.device) -> Iterator[str]:
    """The rows of one network."""
    network = network_named(name, depth, 10)
    law = "orthogonal" if name.startswith("orthogonal") else "xavier"
    start = initial_weights(network, law, NETWORKS[name], 1, RUNS)
    exact = SampledObjective.of(network, data, CPU, torch.float64)(start)[1]
    ways = {"CPU, torch": (CPU, "torch"), "GPU, torch": (card, "auto" if card.type == "cuda" else "torch")}
    if kernel_of(network, "auto")[0] == "fused":
        ways["CPU, compiled"] = (CPU, "fused")
    expected = None
    for way, (device, kernel) in ways.items():
        objective, weights = sampled_objective(network, data, device, kernel)[0], start.to(device)
        off = float((objective(weights)[1].cpu() - exact).norm() / exact.norm())
        if device.type == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        one = trained(objective, weights, steps)
        micros = 1e6 * (time.perf_counter() - begin) / (steps + 1)
        expected = one if expected is None else expected
        with np.errstate(invalid="ignore"):  # of diverged runs
            apart = [np.nanmax(np.abs(one.loss[at] / expected.loss[at] - 1)) for at in AT if at <= steps]
        same = ["-", "-"]
        if way.startswith("GPU"):
            same = [said(whole(trained(objective, weights, steps, stop)) == whole(one)) for stop in (0, steps // 2)]
        ends = ", ".join(f"{loss:.4f}" for loss in one.loss[-1])
        numbers = [f"{off:.1e}", ends, *(f"{each:.1e}" for each in apart), *same, f"{micros:.0f}"]
        yield f"| {name} {depth} | {way} | {' | '.join(numbers)} |"


def whole(trajectory: Trajectory) -> bytes:
    parts = trajectory.excess_loss, trajectory.gradient_norm, trajectory.mean_frobenius_norm, trajectory.snapshots
    return b"".join(part.tobytes() for part in parts)


def spectra(data: Whitened, card: torch.device) -> Iterator[str]:
    """Spectra of linear networks by both devices."""
    moments = Moments.of(data.inputs, data.targets)
    yield "\n| Hessian of | type | index, CPU and GPU | largest eigenvalue, apart | tenth percentile, apart | seconds |"
    yield "|---|---|---|---|---|---|"
    for (name, depth), dtype in [(("2-shortcut", 16), torch.float64), (("xavier", 16), torch.float64),
                                 (("2-shortcut", 16), torch.float32)]:  # fmt: skip
        network = network_named(name, depth, 10)
        weights, found, took = initial_weights(network, "xavier", 1.0, 1, RUNS), [], []
        for device in (CPU, card):
            begin = time.perf_counter()
            found.append(spectra_along([weights.to(device, dtype)], network, moments))
            took.append(f"{time.perf_counter() - begin:.2f}")
        largest, tenth = (
            np.abs(getattr(found[1], key) / getattr(found[0], key) - 1).max() for key in ("lambda_max", "lambda_p10")
        )
        indices = " and ".join(str(each.index[0].round(5).tolist()) for each in found)
        kind = str(dtype).removeprefix("torch.")
        yield f"| {name} {depth} | {kind} | {indices} | {largest:.1e} | {tenth:.1e} | {' and '.join(took)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--samples", type=int, default=30_000)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rehearse", action="store_true")
    options = parser.parse_args()
    until, card = time.monotonic() + 60 * options.minutes, CPU if options.rehearse else torch.device("cuda")
    samples, steps = (2000, 20) if options.rehearse else (options.samples, options.steps)
    name = "CPU (a rehearsal)" if options.rehearse else torch.cuda.get_device_name()
    data = made(samples)
    print(f"{name}; torch {torch.__version__}; {torch.get_num_threads()} threads; {samples} samples; {steps} steps\n")
    titles = ["network", "by", "gradient", "loss at the end", *(f"apart at {at}" for at in AT if at <= steps)]
    titles += ["same again", "resumed", "us a step"]
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}", flush=True)
    for depth in DEPTHS:
        for network in NETWORKS:
            if time.monotonic() > until:
                print(f"| {network} {depth} | skipped: no time left |", flush=True)
                continue
            try:
                for row in compared(network, depth, data, steps, card):
                    print(row, flush=True)
            except Exception as error:  # the others go on
                print(f"| {network} {depth} | failed: {type(error).__name__}: {error} |", flush=True)
    for line in spectra(data, card):
        print(line, flush=True)


if __name__ == "__main__":
    main()
