"""Steps of a training as CUDA graphs: one launch instead of thousands. Called eagerly, the same step is their twin."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

# cuDNN and the allocator settle in the first calls, which a graph must not contain.
WARM_UPS = 3


class Graphs:
    """A step as a CUDA graph for each size of a batch, captured when that size comes first.

    The step is given with each call. Were it kept, graphs and run would refer to each other, and the memory of a run
    that is done would wait for the garbage collector.

    Args:
        state: tensors that the step changes.
        stream: of capture and replay; current when the graphs are called.
    """

    def __init__(self, state: Sequence[Tensor], stream: torch.cuda.Stream) -> None:
        self._state, self._stream = state, stream
        # Graphs of one run never run at once, so that they can share memory.
        self._pool = torch.cuda.graph_pool_handle()
        self._captured: dict[int, tuple[Tensor, torch.cuda.CUDAGraph]] = {}

    def __call__(self, step: Callable[[Tensor], None], samples: Tensor) -> None:
        """Do a step, the same in every call.

        Args:
            step: reads samples and changes ``state``; it must neither wait for the device nor depend on values on the
                host that change.
            samples: shape (b, 4).
        """
        if len(samples) not in self._captured:
            self._captured[len(samples)] = self._capture(step, samples)
        inputs, graph = self._captured[len(samples)]
        inputs.copy_(samples)
        graph.replay()

    def _capture(self, step: Callable[[Tensor], None], samples: Tensor) -> tuple[Tensor, torch.cuda.CUDAGraph]:
        inputs, kept = samples.clone(), [tensor.clone() for tensor in self._state]
        for _ in range(WARM_UPS):
            step(inputs)
        for tensor, value in zip(self._state, kept, strict=True):
            tensor.copy_(value)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"):
            step(inputs)
        return inputs, graph
