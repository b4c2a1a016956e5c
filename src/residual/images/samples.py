"""Which images a step sees, in which order, and how each is cropped, flipped and normalised.

Random numbers are a function of a counter: the same on every device, in any order and beside any other run. SplitMix64
(Steele, Lea, Flood 2014): number i of the stream with key k is mix(k + (i + 1) * GAMMA) modulo 2^64. Keys of streams
are mixed from seed, purpose, run and epoch. Only integers are used, so there is nothing to round.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from residual.images.networks.layers import memory_format

PADDING = {"pad_last": 4, "pad_first": 4, "standardise": 2}
# Of bytes; fb.resnet.torch's datasets/cifar10.lua, and stable_scaling's code times 255.
PUBLISHED = {
    "pad_last": ((125.3, 123.0, 113.9), (63.0, 62.1, 66.7)),
    "pad_first": ((0.4914 * 255, 0.4822 * 255, 0.4465 * 255), (0.2023 * 255, 0.1994 * 255, 0.2010 * 255)),
}
WEIGHTS, ORDER, AUGMENTATION = 1, 2, 3
"""Purposes of streams."""

GAMMA = 0x9E3779B97F4A7C15
_MULTIPLIERS = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_SHIFTS = 30, 27, 31
_BITS = (1 << 64) - 1


def mix(value: int) -> int:
    """SplitMix64's finalizer, of a whole number modulo 2^64.

    >>> hex(mix(GAMMA)), hex(mix(2 * GAMMA & (1 << 64) - 1))  # the first two numbers of the stream with key 0
    ('0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4')
    """
    for shift, multiplier in zip(_SHIFTS[:2], _MULTIPLIERS, strict=True):
        value = (value ^ value >> shift) * multiplier & _BITS
    return value ^ value >> _SHIFTS[2]


def key_of(*parts: int) -> int:
    """The key of a stream, from 0 to 2^64 - 1, that depends on all these numbers and their order."""
    key = 0
    for part in parts:
        key = mix(((key ^ part) + GAMMA) & _BITS)
    return key


def draws(key: int, counters: Tensor) -> Tensor:
    """Numbers of a stream.

    Args:
        key: the stream's.
        counters: int64, any shape, at least 0.

    Returns:
        int64 of that shape and device, with the bits of SplitMix64's unsigned numbers.
    """
    # Products of int64 wrap, as those of unsigned numbers modulo 2^64 do.
    value = (counters + 1) * _signed(GAMMA) + _signed(key)
    for shift, multiplier in zip(_SHIFTS[:2], _MULTIPLIERS, strict=True):
        value = (value ^ _shifted(value, shift)) * _signed(multiplier)
    return value ^ _shifted(value, _SHIFTS[2])


def permutation(key: int, size: int, device: torch.device) -> Tensor:
    """The numbers 0 ... size - 1 in the order of the upper 63 bits of their draws; int64, on the device."""
    numbers = draws(key, torch.arange(size, device=device))
    return torch.argsort(_shifted(numbers, 1), stable=True)


def uniform(numbers: Tensor, first_bit: int, choices: int) -> Tensor:
    """31 bits of each draw, from ``first_bit`` on, as one of 0 ... choices - 1; the chances differ by under 2^-31."""
    return (_shifted(numbers, first_bit) & 0x7FFFFFFF) * choices >> 31


def _shifted(value: Tensor, bits: int) -> Tensor:
    """A shift to the right that fills with zeros; torch's repeats the sign."""
    return value >> bits & (1 << 64 - bits) - 1


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


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


@dataclass(frozen=True)
class Normalisation:
    """(x - mean) / deviation of bytes x, by channel."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]


def normalisation_of(augmentation: str, images: np.ndarray, published: bool) -> Normalisation:
    """The constants of an augmentation's code, which are CIFAR-10's, if they are to be used; else the images' own.

    Args:
        augmentation: the recipe's.
        images: uint8, shape (n, channels, height, width).
        published: whether to use the code's constants.
    """
    if published and images.shape[1] == 3 and augmentation in PUBLISHED:
        return Normalisation(*PUBLISHED[augmentation])
    # Histograms are exact, whatever the order of the sum.
    counts = np.stack([np.bincount(images[:, channel].ravel(), minlength=256) for channel in range(images.shape[1])])
    shares, values = counts / counts.sum(axis=1, keepdims=True), np.arange(256.0)
    mean = shares @ values
    # A channel of one colour becomes 0.
    deviation = np.maximum(np.sqrt(shares @ values**2 - mean**2), 1.0)
    return Normalisation(tuple(mean.tolist()), tuple(deviation.tolist()))


class Images:
    """Images on a device, and how a recipe prepares them, in its own code's order of operations.

    fb.resnet.torch's ``pad_last``: normalise, flip, zero-pad 4, crop (the border has the mean colour); stable_scaling's
    ``pad_first``: zero-pad 4, crop, flip, normalise (the border is black); tensorflow/models' ``standardise``: zero-pad
    2, crop, flip, then (x - mean)/max(deviation, 1/sqrt(numbers)) of each image over all channels, so that the border
    enters both.

    Args:
        images: uint8, shape (n, channels, height, width).
        augmentation: the recipe's.
        normalisation: the constants for the bytes; ``standardise`` does not use them.
        device: the device of the batches.

    Attributes:
        padding: pixels on each side.
    """

    def __init__(
        self, images: np.ndarray, augmentation: str, normalisation: Normalisation, device: torch.device
    ) -> None:
        # Colours last: one pixel is gathered at once, and batches are channels_last, as a CPU wants them.
        self._bytes = torch.from_numpy(images.transpose(0, 2, 3, 1).copy(order="C")).to(device)
        self._augmentation, self.padding = augmentation, PADDING[augmentation]
        self._rows = torch.arange(images.shape[2], device=device)
        self._columns = torch.arange(images.shape[3], device=device)
        constants = (normalisation.mean, normalisation.deviation)
        self._mean, self._deviation = (torch.tensor(each, dtype=torch.float32, device=device) for each in constants)

    def augmented(self, chosen: Tensor, top: Tensor, left: Tensor, flip: Tensor) -> Tensor:
        """Crops of padded images.

        Args:
            chosen: numbers of the images, int64, shape (b,).
            top: first row of the crop in the padded image, int64, shape (b,).
            left: its first column.
            flip: 1 where left and right are swapped, else 0.

        Returns:
            float32, shape (b, channels, height, width), in the device's memory format.
        """
        (height, width), last = self._bytes.shape[1:3], self._bytes.shape[2] - 1
        rows = self._rows + (top - self.padding)[:, None]
        flip, shift = flip[:, None], (left - self.padding)[:, None]
        if self._augmentation == "pad_last":
            # The image is flipped, then cropped.
            columns = self._columns + shift
            inside = (columns >= 0) & (columns < width)
            columns = torch.where(flip == 1, last - columns, columns)
        else:
            columns = torch.where(flip == 1, last - self._columns, self._columns) + shift
            inside = (columns >= 0) & (columns < width)
        inside = (((rows >= 0) & (rows < height))[:, :, None] & inside[:, None, :])[..., None]
        rows, columns = rows.clamp(0, height - 1), columns.clamp(0, last)
        pixels = self._bytes[chosen[:, None, None], rows[:, :, None], columns[:, None, :]]
        if self._augmentation == "pad_last":
            return self._normalised(pixels) * inside.permute(0, 3, 1, 2)
        return self._normalised(pixels * inside)

    def plain(self, start: int, stop: int) -> Tensor:
        """Images ``start`` to ``stop`` as the test has them; float32, shape (b, channels, height, width)."""
        return self._normalised(self._bytes[start:stop])

    def __len__(self) -> int:
        return len(self._bytes)

    def _normalised(self, pixels: Tensor) -> Tensor:
        """As float32, with channels first."""
        if self._augmentation == "standardise":
            values = self._standardised(pixels)
        else:
            values = (pixels.float() - self._mean) / self._deviation
        return values.permute(0, 3, 1, 2).contiguous(memory_format=memory_format(values.device))

    def _standardised(self, pixels: Tensor) -> Tensor:
        # Sums of whole numbers are exact on every device; a GPU may round a division otherwise, in the last digit.
        numbers, whole = pixels[0].numel(), pixels.to(torch.int32)
        mean = whole.sum(dim=(1, 2, 3)).double() / numbers
        variance = whole.square().sum(dim=(1, 2, 3)).double() / numbers - mean.square()
        deviation = variance.clamp(min=0).sqrt().clamp(min=numbers**-0.5)
        return ((pixels - mean[:, None, None, None]) / deviation[:, None, None, None]).float()
