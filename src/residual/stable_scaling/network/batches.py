"""Random draws of a training: weights and the order of the samples, each from (seed, purpose, run) alone."""

import numpy as np
import torch
from torch import Tensor

from residual.stable_scaling.network.model import Weights, draw
from residual.stable_scaling.network.setting import PLAIN, Variances, torch_seed

WEIGHTS, ORDER = 1, 2
"""The purposes of random streams."""


class ShuffledBatches:
    """Batches of images of norm one and their labels, one-hot; each epoch in another order, run by run.

    Args:
        images: unsigned bytes, shape (n, ...).
        labels: shape (n,).
        classes: number of labels.
        size: of a batch, at most n; samples that are left over at the end of an epoch are not used.
        seed: of the orders.
        runs: numbers of the random draws.
        like: gives dtype and device.
    """

    def __init__(
        self, images: np.ndarray, labels: np.ndarray, classes: int, size: int, seed: int, runs: range, like: Tensor
    ) -> None:
        self._images = torch.tensor(images.reshape(len(images), -1), device=like.device)
        self._targets = torch.eye(classes).to(like)[torch.tensor(labels.astype(np.int64))]
        self._size, self._seed, self._runs, self._like = size, seed, runs, like
        self._epoch, self._orders = -1, np.empty((len(runs), 0), dtype=np.int64)

    def __call__(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs (runs, pixels, size) and targets (runs, classes, size) of a step."""
        epoch, place = divmod(step, len(self._images) // self._size)
        if epoch != self._epoch:
            self._epoch, self._orders = epoch, self._of_epoch(epoch)
        chosen = torch.tensor(self._orders[:, place * self._size : (place + 1) * self._size], device=self._like.device)
        inputs = self._images[chosen].to(self._like.dtype)
        inputs /= torch.linalg.vector_norm(inputs, dim=2, keepdim=True)
        return inputs.mT, self._targets[chosen].mT

    def _of_epoch(self, epoch: int) -> np.ndarray:
        streams = (np.random.default_rng([self._seed, ORDER, run, epoch]) for run in self._runs)
        return np.stack([stream.permutation(len(self._images)) for stream in streams])


def drawn(inputs: int, width: int, depth: int, outputs: int, seed: int, runs: range, plain: bool) -> Weights:
    """Weights of the runs of these numbers, float32 on the CPU, with a leading dimension; see ``model.draw``."""
    each = []
    for run in runs:
        generator = torch.Generator().manual_seed(torch_seed(seed, WEIGHTS, run))
        variances = PLAIN if plain else Variances()
        each.append(draw(inputs, width, depth, outputs, generator, variances, torch.float32))
    return Weights(*(torch.stack(part) for part in zip(*each, strict=True)))
