"""The fused kernel on CUDA as an objective. Imports triton only on use."""

import os
import shutil
from contextlib import nullcontext
from typing import Any

import torch

from resaudit.base.errors import ResauditError
from resaudit.data.whitening import Whitened
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.kernels.samples import in_blocks
from residual.demystifying_resnet.training.kernels.steps import WIDTH, chosen, step_bits, unfit
from residual.demystifying_resnet.training.sampled import SampledObjective

SAMPLES = 128
"""Samples in a block: four per thread, the most that the registers allow."""
PARTS = 64
"""Partial sums over the samples, a power of two; a fixed number, so that bits do not change."""
BYTES_AT_ONCE = 4 * 2**30
"""Memory for the states and gradients of one batch of runs."""
LONGEST_PERIOD = 8
"""Most layers unrolled in the kernel's code; each takes seconds to compile."""
OLDEST_TRITON = (3, 6)
RUNS_COMPARED = 3
"""Runs compared with the plain twin at first use; the median counts, since rounding may flip a ReLU."""
LOSS_TOLERANCE = 1e-6
GRADIENT_TOLERANCE = 1e-5
"""Largest relative difference from the double-precision twin, by norm; gradients layer by layer."""


def why_not_on_cuda(network: Network) -> str | None:
    """Why the Triton kernel cannot compute a network here; None if it can. Does not test for a GPU."""
    try:
        import triton
    except ImportError as error:
        return f"triton cannot be imported ({error}; pip install triton)"
    if tuple(map(int, triton.__version__.split(".")[:2])) < OLDEST_TRITON:
        oldest = ".".join(map(str, OLDEST_TRITON))
        return f"the kernel needs triton {oldest} or newer, here is {triton.__version__}"
    if not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")):
        return "triton needs a C compiler, and there is neither gcc nor clang (nor is CC set)"
    if _period(step_bits(network)) > LONGEST_PERIOD:
        return f"the kernel is for units of at most {LONGEST_PERIOD} layers"
    return unfit(network)


def cuda_kernel_of(network: Network, wanted: str) -> tuple[str, str]:
    """What computes a network with activations on CUDA, ``fused`` or ``torch``, and the same in words.

    Args:
        network: with activations.
        wanted: ``fused``, ``torch``, or ``auto``, which is torch: no GPU has run the Triton kernel yet.

    Raises:
        ResauditError: ``fused`` is wanted and not available.
    """
    if wanted == "auto":
        return "torch", "torch, since the Triton kernel has to be asked for (kernel=fused)"
    reason = why_not_on_cuda(network)
    if reason:
        return chosen(wanted, reason, "")
    import triton

    return chosen(wanted, None, f"fused kernel, triton {triton.__version__}")


class TritonObjective:
    """The loss (1/2m) sum |y - f(x)|^2 over all samples, in float32 with sums in float64, by the Triton kernel.

    The plain twin is :class:`residual.demystifying_resnet.training.sampled.SampledObjective`, with which it compares
    itself at first use, on a block of samples. Sums have a fixed order: a run has the same bits in any batch on one
    kind of GPU.

    Args:
        network: of width 10, with ReLUs or without activations.
        whitened: the samples.
        device: where it trains; a CPU under Triton's interpreter (``TRITON_INTERPRET=1``).

    Raises:
        ResauditError: triton cannot be had, or the kernel is not for such networks.
    """

    baseline_loss = 0.0

    def __init__(self, network: Network, whitened: Whitened, device: torch.device) -> None:
        cuda_kernel_of(network, "fused")
        from residual.demystifying_resnet.training.kernels.fused_triton import loss_and_gradient

        self._kernel: Any = loss_and_gradient
        self._network, self._compared = network, False
        self._depth, self._count = network.depth, whitened.inputs.shape[1]
        self._inputs, self._targets = (
            torch.from_numpy(in_blocks(a, SAMPLES)).to(device) for a in (whitened.inputs, whitened.targets)
        )
        keeps_relus = network.has_shortcuts and network.post == "relu"
        self._slots = 2 if keeps_relus else 1
        self._structure = _structure(network)
        a_layer = 4 * SAMPLES * WIDTH * self._slots + (4 + 8) * WIDTH * WIDTH
        self._runs_at_once = max(1, BYTES_AT_ONCE // (PARTS * self._depth * a_layer))

    def __call__(self, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss, shape (runs,), and gradient, shape of ``weights`` = (depth, runs, width, width); both float64.

        Raises:
            ResauditError: at first use it differs from its twin.
        """
        by_run = weights.detach().transpose(0, 1).to(torch.float32).contiguous()
        if not self._compared:
            self._compared = self._compare(by_run[:RUNS_COMPARED])
        starts = range(0, len(by_run), self._runs_at_once)
        sums = [self._sums(by_run[start : start + self._runs_at_once], len(self._inputs)) for start in starts]
        loss, gradient = (torch.cat(of_groups) / self._count for of_groups in zip(*sums, strict=True))
        return loss, gradient.transpose(0, 1).contiguous()

    def _compare(self, weights: torch.Tensor) -> bool:
        """Compare losses and gradients of a block of samples with the twin's, unless no run is finite."""
        block = slice(0, min(SAMPLES, self._count))
        inputs, targets = (samples[0, :, block].double() for samples in (self._inputs, self._targets))
        expected = SampledObjective(self._network, inputs, targets)(weights.double().transpose(0, 1))
        sound = torch.isfinite(expected[0].float())
        loss, gradient = (sums / inputs.shape[1] for sums in self._sums(weights, 1))
        by_loss = (loss - expected[0]).abs() / expected[0].abs()
        by_layer = torch.linalg.matrix_norm(gradient.transpose(0, 1) - expected[1])
        by_gradient = (by_layer / torch.linalg.matrix_norm(expected[1]).clamp(min=1e-300)).amax(dim=0)
        if not sound.any():
            return False
        off, slope_off = by_loss[sound].median().item(), by_gradient[sound].median().item()
        if not (off <= LOSS_TOLERANCE and slope_off <= GRADIENT_TOLERANCE):
            raise ResauditError(
                f"the Triton kernel differs from torch on this device, by {off:.1e} of the loss and {slope_off:.1e} of "
                f"the gradient, allowed are {LOSS_TOLERANCE:.0e} and {GRADIENT_TOLERANCE:.0e}; leave kernel=fused out"
            )
        return True

    def _sums(self, weights: torch.Tensor, blocks: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Sums of losses and gradients over so many blocks of samples.

        Weights and gradients are of shape (runs, depth, width, width).
        """
        runs = len(weights)
        states = weights.new_empty(runs * PARTS * self._slots * self._depth * WIDTH * SAMPLES)
        gradients = weights.new_zeros(runs, PARTS, self._depth, WIDTH, WIDTH)
        losses = weights.new_empty(runs, PARTS, dtype=torch.float64)
        with torch.cuda.device(weights.device) if weights.is_cuda else nullcontext():
            self._kernel[(runs * PARTS,)](
                self._inputs, self._targets, weights, states, gradients, losses, blocks, self._depth,
                **self._structure, SLOTS=self._slots, PARTS=PARTS, SAMPLES=SAMPLES, WIDTH=WIDTH,
                num_warps=1, num_stages=1, enable_fp_fusion=True,
            )  # fmt: skip
        return _total(losses), _total(gradients)


def _total(parts: torch.Tensor) -> torch.Tensor:
    """The sum over dimension 1 in float64, by halves: the order does not depend on the other dimensions."""
    while (half := parts.shape[1] // 2) > 0:
        parts = parts[:, :half].double() + parts[:, half:]
    return parts[:, 0]


def _period(bits: bytes) -> int:
    """The period of the steps around the layers' products, in layers.

    >>> _period(bytes([2, 0, 2, 0])), _period(bytes([0, 0, 0])), _period(bytes([4, 0, 8]))
    (2, 1, 3)
    """
    return next(n for n in range(1, len(bits) + 1) if bits[:n] * (len(bits) // n) == bits)


def _structure(network: Network) -> dict[str, int]:
    """The steps around one period's products in the kernel's encoding: one bit per layer."""
    period = _period(step_bits(network))
    steps = network.steps[:period]

    def mask(of_layers: list[bool]) -> int:
        return sum(1 << place for place, has in enumerate(of_layers) if has)

    return {
        "PERIOD": period,
        "RELU_BEFORE": mask([step.before == "relu" for step in steps]),
        "RELU_AFTER": mask([step.after == "relu" for step in steps]),
        "ENTERS": mask([step.enters for step in steps]),
        "LEAVES": mask([step.leaves for step in steps]),
    }
