"""What else a training step of the pre-activation networks could cost on a GPU; one row a setting.

python -m benchmarks.gpu_convolutions [--depths 38 110] [--minutes N] [--out FILE.md] [--setting NAME ...]
python -m benchmarks.gpu_convolutions --device cpu --rehearse           the same on a CPU, in small

A step is forward, backward and momentum SGD on a batch of 128, float32. The first row is the engine as it is; each
other one changes what its name says, and replays a CUDA graph that nothing is checked of. ``same bytes``: whether all
parameters of two equal runs in one process have the same bytes after ten steps. ``from the engine``: how far they are
from the engine's then, relative. torch.compile has a process and a time limit of its own. Rows are printed as soon as
they are measured; what is left when the time is over is named.
"""

import argparse
import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from benchmarks.on_gpu import PASSES, copied_a_second, endless, machine, paced, random_images
from torch import Tensor
from torch.nn.functional import pad, unfold

from residual.images import optimiser, samples
from residual.images.costs import counts
from residual.images.networks import layers, residual
from residual.images.networks.residual import build
from residual.images.schedule import Schedule
from residual.images.setting import PreActivation
from residual.images.training import Graph, OnDevice, TrainingRun, deterministic, load

STEPS = 10
"""Steps after which bytes are compared."""
SECONDS_TO_COMPILE = {"default": 75, "max-autotune-no-cudagraphs": 100}
LEAST_SECONDS = 15
TITLES = ["depth", "setting", "us a layer and step", "images/s", "bandwidth floor, share", "peak MB", "same bytes"]
Change = Callable[[], AbstractContextManager[Any]]


@contextmanager
def libraries(benchmark: bool = False, same: bool = True, tf32: bool = False) -> Iterator[None]:
    """Other settings of cuDNN and cuBLAS than the engine's."""
    torch.use_deterministic_algorithms(same)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        with torch.backends.cudnn.flags(enabled=True, benchmark=benchmark, deterministic=same, allow_tf32=tf32):
            yield
    finally:
        torch.use_deterministic_algorithms(torch.cuda.is_available())
        torch.backends.cuda.matmul.allow_tf32 = False


@contextmanager
def in_format(layout: torch.memory_format) -> Iterator[None]:
    """Images and kernels in a memory format."""
    with ExitStack() as changed:
        for module in (samples, optimiser, layers):
            changed.enter_context(patch.object(module, "memory_format", lambda _: layout))
        yield


def by_unfold(layer: layers.Convolution, x: Tensor) -> Tensor:
    """The convolution as a product with torch's own columns, in NCHW."""
    height, width = ((side - 1) // layer.stride + 1 for side in x.shape[2:])
    columns = unfold(x, 3, padding=1, stride=layer.stride)
    return (layer.weight.reshape(len(layer.weight), -1) @ columns).view(len(x), -1, height, width)


def by_shifts(layer: layers.Convolution, x: Tensor) -> Tensor:
    """The convolution as one product with nine shifted copies beside each other, in NHWC."""
    (height, width), stride = x.shape[2:], layer.stride
    padded = pad(x.permute(0, 2, 3, 1), (0, 0, 1, 1, 1, 1))
    shifted = [padded[:, i : i + height : stride, j : j + width : stride] for i in range(3) for j in range(3)]
    kernels = layer.weight.permute(2, 3, 1, 0).reshape(-1, len(layer.weight))
    return (torch.cat(shifted, dim=3) @ kernels).permute(0, 3, 1, 2)


def convolving(function: Callable[[layers.Convolution, Tensor], Tensor]) -> Change:
    return lambda: patch.object(layers.Convolution, "forward", function)


@dataclass(frozen=True)
class Setting:
    """What is changed.

    Attributes:
        changes: contexts of the training.
        compiled: mode of torch.compile, if it is used.
        runs: side by side, each on a stream.
        needs_card: whether a CPU has no such setting.
    """

    changes: tuple[Change, ...] = ()
    compiled: str | None = None
    runs: int = 1
    needs_card: bool = True


def layout(name: torch.memory_format) -> Change:
    return lambda: in_format(name)


ENGINE = "engine as it is"
LAST, FIRST = layout(torch.channels_last), layout(torch.contiguous_format)
SETTINGS = {
    ENGINE: Setting(needs_card=False),
    "contiguous": Setting((FIRST,), needs_card=False),
    "channels_last": Setting((LAST,), needs_card=False),
    "cudnn.benchmark": Setting((lambda: libraries(benchmark=True),)),
    "not deterministic": Setting((lambda: libraries(same=False),)),
    "not deterministic, cudnn.benchmark": Setting((lambda: libraries(benchmark=True, same=False),)),
    "not deterministic, benchmark, channels_last": Setting((lambda: libraries(True, same=False), LAST)),
    "TF32": Setting((lambda: libraries(tf32=True),)),
    "TF32, cudnn.benchmark, channels_last": Setting((lambda: libraries(True, tf32=True), LAST)),
    "products by F.unfold": Setting((convolving(by_unfold), FIRST), needs_card=False),
    "products of shifted NHWC": Setting((convolving(by_shifts), LAST), needs_card=False),
    "2 runs on streams": Setting(runs=2),
    "4 runs on streams": Setting(runs=4),
    "torch.compile": Setting(compiled="default", needs_card=False),
    "torch.compile, max-autotune": Setting(compiled="max-autotune-no-cudagraphs"),
}


@dataclass(frozen=True)
class Size:
    """How large the measurements are."""

    device: torch.device
    batch: int = 128
    seconds: float = 1.0


class Trial:
    """Runs of one network under one setting, of a size; the first is on the current stream, others on their own."""

    def __init__(self, size: Size, depth: int, setting: Setting, plain: bool) -> None:
        self.cuda, recipe, images = size.device.type == "cuda", replace(endless(), batch=size.batch), made(size)
        data = load(images, recipe.augmentation, False, size.device)
        if self.cuda:
            torch.cuda.synchronize()  # other streams read it
        self.runs, self.streams, self.how = list[TrainingRun](), list[Any](), "eager"
        for number in range(setting.runs):
            self.streams.append(torch.cuda.Stream() if number else torch.cuda.current_stream() if self.cuda else None)
            with torch.cuda.stream(self.streams[-1]):
                run = self.begun(depth, data, Schedule(recipe, len(images.train_images)), number, setting)
                if self.cuda:
                    self.how = run.use_graph() if plain else captured(run, size.batch)
                self.runs.append(run)

    @staticmethod
    def begun(depth: int, data: OnDevice, schedule: Schedule, number: int, setting: Setting) -> TrainingRun:
        """A run before its first step, its network compiled if the setting says so."""
        run = TrainingRun(build(PreActivation(depth), 3, 10, 1), data, schedule, 1, number)
        if setting.compiled:
            run._network = torch.compile(run._network, mode=setting.compiled)
        return run

    def step(self) -> None:
        """One step of each run."""
        for run, stream in zip(self.runs, self.streams, strict=True):
            with torch.cuda.stream(stream):
                run.advance()

    def trained(self) -> Tensor:
        """All parameters of all runs after the steps, in an order that no format changes."""
        for _ in range(STEPS):
            self.step()
        if self.cuda:
            torch.cuda.synchronize()
        tensors = [run._parameters.tensors for run in self.runs]
        return torch.cat([each[name].detach().reshape(-1).cpu() for each in tensors for name in sorted(each)])


@cache
def made(size: Size) -> Any:
    return random_images(16 * size.batch)


def captured(run: TrainingRun, batch: int) -> str:
    """Let a run take its steps by a graph that is not compared to eager ones, from its weights on."""
    batches = run._samples(0, batch)
    changing = [run._parameters.vector, run._optimiser.velocity, run._totals, *run._buffers]
    start = [tensor.clone() for tensor in changing]
    for _ in range(3):
        run._take_step(batches)
    run._graph = Graph(run._take_step, batches)
    # What is compiled is in the graph; for the test it would be compiled once more.
    run._network = getattr(run._network, "_orig_mod", run._network)
    for tensor, value in zip(changing, start, strict=True):
        tensor.copy_(value)
    return "CUDA graph"


def trial(size: Size, depth: int, name: str, alone: bool = False) -> tuple[Tensor, float, str]:
    """Parameters after the steps, seconds of a step (0 if ``alone``), and how steps are taken."""
    setting = SETTINGS[name]
    with deterministic(size.device.type), ExitStack() as changed:
        for change in setting.changes:
            changed.enter_context(change())
        if setting.compiled:  # its hook, which would break the graph, only keeps channels_last
            changed.enter_context(patch.object(residual, "average", lambda x: x.mean((2, 3))))
        these = Trial(size, depth, setting, plain=name == ENGINE)
        weights = these.trained()
        return weights, 0.0 if alone else paced(these.step, size.device, size.seconds), these.how


@cache
def of_engine(size: Size, depth: int) -> Tensor:
    return trial(size, depth, ENGINE, alone=True)[0]


def measured(size: Size, depth: int, name: str, bandwidth: float) -> str:
    """A row of the table."""
    runs, cuda, counted = SETTINGS[name].runs, size.device.type == "cuda", counts(PreActivation(depth))
    expected = of_engine(size, depth)
    gc.collect()
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_reserved()
    weights, seconds, how = trial(size, depth, name)
    peak = f"{(torch.cuda.max_memory_reserved() - before) / 1e6:.0f}" if cuda else "-"
    again = trial(size, depth, name, alone=True)[0]
    same = "yes" if again.numpy().tobytes() == weights.numpy().tobytes() else "no"
    first = weights[: len(expected)]
    apart = float((first - expected).norm() / expected.norm())
    speed = f"{1e6 * seconds / runs / counted.layers:.2f} | {runs * size.batch / seconds:.0f}"
    floor = runs * PASSES * 4 * size.batch * counted.saved / bandwidth / seconds
    return f"| {depth} | {name} ({how}) | {speed} | {floor:.0%} | {peak} | {same} | {apart:.1e} |"


def compiled(depth: int, name: str, arguments: list[str], limit: float) -> str:
    """A row that a process of its own measures; it is ended at its limit, with the compiler's processes."""
    command = [sys.executable, "-m", "benchmarks.gpu_convolutions", "--depths", str(depth), "--setting", name, "--here"]
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return f"| {depth} | {name} | not done in {limit:.0f} s | | | | | |"
    rows = [line for line in output.splitlines() if line.startswith(f"| {depth} |")]
    return rows[0] if rows else f"| {depth} | {name} | failed: {' '.join(output.split()[-40:])} | | | | | |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="settings of convolutions on a GPU; the module's docstring says which")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--depths", type=int, nargs="+")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--setting", choices=list(SETTINGS), action="append", help="default: all")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--here", action="store_true", help="compile in this process")
    options = parser.parse_args()
    until, device = time.monotonic() + 60 * options.minutes, torch.device(options.device)
    size = Size(device, 8, 0.2) if options.rehearse else Size(device)
    depths = options.depths or ([8, 14] if options.rehearse else [38, 110])
    bandwidth = copied_a_second(device)

    def say(line: str) -> None:
        print(line, flush=True)
        if options.out:
            with options.out.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    say(f"{machine(device)}; a copy in its memory {bandwidth / 1e9:.0f} GB/s; batch {size.batch}\n")
    say(f"| {' | '.join([*TITLES, 'from the engine'])} |\n|{'---|' * (len(TITLES) + 1)}")
    chosen = options.setting or list(SETTINGS)
    # What may take long comes last.
    rows = [(depth, name) for depth in depths for name in chosen]
    rows.sort(key=lambda row: SETTINGS[row[1]].compiled or "")
    passed_on = ["--device", options.device, *(["--rehearse"] if options.rehearse else [])]
    for depth, name in rows:
        mode, left = SETTINGS[name].compiled, until - time.monotonic()
        if left < LEAST_SECONDS * bool(mode):
            say(f"| {depth} | {name} | skipped: no time left | | | | | |")
        elif SETTINGS[name].needs_card and device.type == "cpu":
            say(f"| {depth} | {name} | skipped: needs a GPU | | | | | |")
        elif mode and not options.here:
            say(compiled(depth, name, passed_on, min(left, SECONDS_TO_COMPILE[mode])))
        else:
            try:
                say(measured(size, depth, name, bandwidth))
            except Exception as error:  # the others go on
                words = " ".join(f"{type(error).__name__}: {error}".split())
                say(f"| {depth} | {name} | failed: {words[:200].replace('|', '/')} | | | | | |")


if __name__ == "__main__":
    main()
