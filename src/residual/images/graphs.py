"""A training step as a CUDA graph: one launch instead of thousands. Called eagerly, the same step is its twin."""

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[[Tensor], None]
"""Reads samples, shape (b, 4), and changes tensors in place; waits for no device, and depends on no value on the host
that changes.
"""


class Graph:
    """A step, captured on the current stream, which must not be the default one; each call replays it.

    The step is not kept: were it, graph and run would refer to each other, and the memory of a run that is done would
    wait for the garbage collector.

    Args:
        step: was called before, since cuDNN and the allocator settle in first calls, which a graph must not contain.
        samples: of the shape that every call has.
    """

    def __init__(self, step: Step, samples: Tensor) -> None:
        self._inputs, self._graph = samples.clone(), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, stream=torch.cuda.current_stream()):
            step(self._inputs)

    def __call__(self, samples: Tensor) -> None:
        """Do the step on samples."""
        self._inputs.copy_(samples)
        self._graph.replay()
