"""The networks that the fused kernel supports. Imports only the standard library."""

from residual.demystifying_resnet.networks.network import Network

WIDTH = 10
"""Of the layers that the kernel is written for."""
KERNEL_ACTIVATIONS = ("identity", "relu")
_BITS = {"before": 1, "after": 2, "enters": 4, "leaves": 8}


def step_bits(network: Network) -> bytes:
    """The steps around each layer's product, one byte per layer."""
    return bytes(
        _BITS["before"] * (step.before == "relu")
        + _BITS["after"] * (step.after == "relu")
        + _BITS["enters"] * step.enters
        + _BITS["leaves"] * step.leaves
        for step in network.steps
    )


def unfit(network: Network, width: int = WIDTH) -> str | None:
    """Why a kernel for layers of a width cannot compute a network; None if it can."""
    others = {network.pre, network.mid, network.post} - set(KERNEL_ACTIVATIONS)
    if others:
        return f"the kernel has no {', '.join(sorted(others))}, only {' and '.join(KERNEL_ACTIVATIONS)}"
    if network.width != width:
        return f"the kernel is for layers of width {width}, not {network.width}"
    return None
