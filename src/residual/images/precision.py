"""Precision of a training: float32 as it is, TF32 in convolutions, or branches in bfloat16 beside a float32 stream."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

_BRANCHES: ContextVar[torch.dtype | None] = ContextVar("branches", default=None)


def branch(x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """``function(x)``, the branch of a residual block; in bfloat16 within ``computing("bf16")``, returned in float32.

    Weights, sums over a batch and the residual stream stay in float32.

    >>> branch(torch.ones(2), lambda x: 2 * x)
    tensor([2., 2.])
    """
    dtype = _BRANCHES.get()
    if dtype is None:
        return function(x)
    # The cache of converted weights would outlive the capture of a CUDA graph.
    with torch.autocast(x.device.type, dtype, cache_enabled=False):
        return function(x).float()


@contextmanager
def computing(precision: str) -> Iterator[None]:
    """Compute within the block in a recipe's precision: ``fp32``, ``tf32`` or ``bf16``.

    PyTorch allows TF32 in convolutions unless it is told otherwise; here only ``tf32`` does, and only there.
    """
    flags = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = precision == "tf32", False
    token = _BRANCHES.set(torch.bfloat16 if precision == "bf16" else None)
    try:
        yield
    finally:
        _BRANCHES.reset(token)
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = flags
