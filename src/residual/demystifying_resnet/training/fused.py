"""The fused kernel (fused.c): forward and backward through all layers at once, block by block of samples."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from resaudit.paper import NOT_BUILT, ConfigError, kernel
from residual.demystifying_resnet.networks.network import Network

if TYPE_CHECKING:
    import torch

    from resaudit.paper import Whitened

WIDTH = 10
"""Width of the layers that the kernel is written for."""
KERNEL_ACTIVATIONS = ("identity", "relu")


class StepWork(ctypes.Structure):
    """Arguments and results of the kernel; the layout is that in fused.c."""

    _fields_ = (
        ("depth", ctypes.c_int32),
        ("steps", ctypes.c_void_p),
        ("inputs", ctypes.c_void_p),
        ("targets", ctypes.c_void_p),
        ("blocks", ctypes.c_int64),
        ("parts", ctypes.c_int64),
        ("weights", ctypes.c_void_p),
        ("losses", ctypes.c_void_p),
        ("gradients", ctypes.c_void_p),
    )


library, lanes = kernel(Path(__file__).parent, "fused", "training", 32)


def unfit(network: Network) -> str | None:
    """Why the kernel cannot compute a network; None if it can."""
    others = {network.pre, network.mid, network.post} - set(KERNEL_ACTIVATIONS)
    if others:
        return f"the kernel has no {', '.join(sorted(others))}, only {' and '.join(KERNEL_ACTIVATIONS)}"
    if network.width != WIDTH:
        return f"the kernel is for layers of width {WIDTH}, not {network.width}"
    return None


def kernel_of(network: Network, asked: str, device: str = "cpu") -> tuple[str, str]:
    """What computes a network with activations, ``fused`` or ``torch``, and the same in words.

    Args:
        network: shape and activations.
        asked: ``fused``, ``torch``, or ``auto``, which is fused if available.
        device: ``cpu`` or ``cuda``.
    """
    if device != "cpu":
        reason: str | None = "the fused kernel computes on a CPU alone"
    else:
        reason = unfit(network) if library() else NOT_BUILT
    if asked == "fused" and reason:
        raise ConfigError(f"kernel is fused, but {reason}; allowed: kernel=auto, kernel=torch")
    if asked == "torch":
        return "torch", "torch, as configured"
    return ("torch", f"torch, since {reason}") if reason else ("fused", f"fused kernel, vectors of {lanes()} floats")


PARTS = 4
"""Partial sums over the samples; a fixed number, so that bits do not depend on threads."""


class NativeObjective:
    """The loss (1/2m) sum |y - f(x)|^2 over all samples, in float32 with sums in float64, by the compiled kernel.

    The reference implementation is :class:`residual.demystifying_resnet.training.sampled.SampledObjective`. Bits depend
    on the width of vectors, not on the number of threads.

    Args:
        network: shape and activations: width 10, with ReLUs or without.
        whitened: the samples.
        threads: number of threads.
        vector_lanes: floats in a vector: 16, 8 or 4, at most and by default :func:`lanes`.
    """

    baseline_loss = 0.0

    def __init__(
        self, network: Network, whitened: "Whitened", threads: int = 1, vector_lanes: int | None = None
    ) -> None:
        kernel_of(network, "fused")
        loaded, most = library(), lanes()
        assert loaded is not None
        assert most is not None
        self._library, self._lanes, self._threads = loaded, vector_lanes or most, threads
        self._pool = ThreadPoolExecutor(threads)
        self._count = whitened.inputs.shape[1]
        bits = [
            (step.before == "relu") + 2 * (step.after == "relu") + 4 * step.enters + 8 * step.leaves
            for step in network.steps
        ]
        self._steps = np.array(bits, dtype=np.uint8)
        block = int(loaded.resaudit_block())
        self._inputs, self._targets = (_in_blocks(a, block) for a in (whitened.inputs, whitened.targets))

    def __call__(self, weights: "torch.Tensor") -> tuple["torch.Tensor", "torch.Tensor"]:
        """Loss, shape (runs,), and gradient, shape of ``weights`` = (depth, runs, width, width); both float64."""
        import torch

        depth, runs, width, _ = weights.shape
        by_run = np.ascontiguousarray(weights.numpy().swapaxes(0, 1), dtype=np.float32)
        losses, gradients = np.empty((runs, PARTS)), np.empty((runs, PARTS, depth, width, width))
        work, items = StepWork(
            depth, self._steps.ctypes.data, self._inputs.ctypes.data, self._targets.ctypes.data, len(self._inputs),
            PARTS, by_run.ctypes.data, losses.ctypes.data, gradients.ctypes.data,
        ), runs * PARTS  # fmt: skip

        def compute(first: int, last: int) -> int:
            # ctypes releases the GIL while the kernel runs.
            ends = ctypes.c_int64(first), ctypes.c_int64(last)
            return int(self._library.resaudit_loss_and_gradient(ctypes.byref(work), *ends, self._lanes))

        ends = np.linspace(0, items, min(self._threads, items) + 1).astype(int)
        parts = map if self._threads == 1 else self._pool.map
        # A list, so that every part is done before the arrays go.
        if any(list(parts(compute, ends[:-1].tolist(), ends[1:].tolist()))):
            raise MemoryError("no memory for the activations of a block of samples")
        gradient = gradients.sum(axis=1).swapaxes(0, 1) / self._count
        return torch.from_numpy(losses.sum(axis=1) / self._count), torch.from_numpy(np.ascontiguousarray(gradient))


def _in_blocks(columns: np.ndarray, block: int) -> np.ndarray:
    """Samples in columns as float32, shape (blocks, width, block); the last block is padded with zeros."""
    width, count = columns.shape
    padded = np.zeros((width, -(-count // block) * block), dtype=np.float32)
    padded[:, :count] = columns
    return np.ascontiguousarray(padded.reshape(width, -1, block).swapaxes(0, 1))
