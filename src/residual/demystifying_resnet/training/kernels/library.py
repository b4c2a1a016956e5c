"""The optional compiled kernel. Imports only the standard library, so that asking for it is cheap."""

import ctypes
from functools import cache
from pathlib import Path

from resaudit.paper import NOT_BUILT, ConfigError, extension, lanes_allowed, register_lanes
from residual.demystifying_resnet.networks.network import Network

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


@cache
def library() -> ctypes.CDLL | None:
    """The extension ``_fused``; None if it was not built."""
    loaded = extension(Path(__file__).parent, "fused")
    if loaded:
        loaded.resaudit_loss_and_gradient.argtypes = (
            ctypes.POINTER(StepWork), ctypes.c_int64, ctypes.c_int64, ctypes.c_int,
        )  # fmt: skip
        loaded.resaudit_peak.argtypes = (ctypes.c_int64, ctypes.c_int)
        loaded.resaudit_peak.restype = ctypes.c_double
    return loaded


def lanes() -> int | None:
    """Floats in the widest vector that kernel and processor support; None without the kernel."""
    loaded = library()
    return lanes_allowed(loaded.resaudit_lanes(), 32) if loaded else None


register_lanes("training", lanes)


def unfit(network: Network) -> str | None:
    """Why the kernel cannot compute a network; None if it can."""
    others = {network.pre, network.mid, network.post} - set(KERNEL_ACTIVATIONS)
    if others:
        return f"the kernel has no {', '.join(sorted(others))}, only {' and '.join(KERNEL_ACTIVATIONS)}"
    if network.width != WIDTH:
        return f"the kernel is for layers of width {WIDTH}, not {network.width}"
    return None


def kernel_of(network: Network, kernel: str, device: str = "cpu") -> tuple[str, str]:
    """What computes a network with activations, ``fused`` or ``torch``, and the same in words.

    Args:
        network: shape and activations.
        kernel: ``fused``, ``torch``, or ``auto``, which is fused if available.
        device: ``cpu`` or ``cuda``.
    """
    if device != "cpu":
        reason: str | None = "the fused kernel computes on a CPU alone"
    else:
        reason = unfit(network) if library() else NOT_BUILT
    if kernel == "fused" and reason:
        raise ConfigError(f"kernel is fused, but {reason}; allowed: kernel=auto, kernel=torch")
    if kernel == "torch":
        return "torch", "torch, as configured"
    return ("torch", f"torch, since {reason}") if reason else ("fused", f"fused kernel, vectors of {lanes()} floats")
