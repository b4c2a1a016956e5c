"""Which images a step sees, in which order, and how each is cropped and flipped: from (seed, run, position) alone."""

import torch
from torch import Tensor

from residual.images.counter_hash import AUGMENTATION, ORDER, draws, key_of, permutation, uniform

COLUMNS = 4


class Samples:
    """The sequence of training samples of one run; epoch follows epoch, each with another permutation.

    Args:
        images: number of images of the training set.
        padding: pixels on each side of an image, before it is cropped to its size.
        seed: the seed of all draws.
        run: number of the run.
        device: the device of the result.
    """

    def __init__(self, images: int, padding: int, seed: int, run: int, device: torch.device) -> None:
        self._images, self._padding, self._seed, self._run, self._device = images, padding, seed, run, device
        self._epochs: dict[int, Tensor] = {}

    def __call__(self, first: int, stop: int) -> Tensor:
        """Positions ``first`` to ``stop`` of the sequence.

        Returns:
            int64, shape (stop - first, 4), on the device: image, first row and column of its crop, 1 if flipped.
        """
        start, end = first // self._images, (stop - 1) // self._images
        for epoch in range(start, end + 1):
            if epoch not in self._epochs:
                self._epochs[epoch] = self._epoch(epoch)
        self._epochs = {epoch: self._epochs[epoch] for epoch in range(start, end + 1)}
        together = torch.cat(list(self._epochs.values())) if end > start else self._epochs[start]
        return together[first - start * self._images : stop - start * self._images]

    def _epoch(self, epoch: int) -> Tensor:
        order = permutation(key_of(self._seed, ORDER, self._run, epoch), self._images, self._device)
        numbers = draws(key_of(self._seed, AUGMENTATION, self._run, epoch), order)
        shifts = 2 * self._padding + 1
        rows, columns = (uniform(numbers, first_bit, shifts) for first_bit in (0, 31))
        return torch.stack([order, rows, columns, numbers >> 62 & 1], dim=1)
