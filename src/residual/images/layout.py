"""How images and kernels lie in memory."""

import torch


def memory_format(device: torch.device) -> torch.memory_format:
    """The format in which convolutions in single precision are fastest: on a CPU channels_last, on a GPU contiguous.

    cuDNN would turn channels_last into contiguous before its fastest algorithms, and back.
    """
    return torch.channels_last if device.type == "cpu" else torch.contiguous_format
