"""Images as a network sees them: augmented batches for training, plain ones for the test, from one tensor of bytes.

Three recipes, each in its own code's order of operations: fb.resnet.torch's ``pad_last`` (normalise, flip, zero-pad 4,
crop: the border has the mean colour), stable_scaling's ``pad_first`` (zero-pad 4, crop, flip, normalise: the border is
black) and tensorflow/models' ``standardise`` (zero-pad 2, crop, flip, then (x - mean)/max(deviation, 1/sqrt(numbers))
of each image over all channels, so that the border enters both).
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from residual.images.layout import memory_format

PADDING = {"pad_last": 4, "pad_first": 4, "standardise": 2}
# Of bytes; fb.resnet.torch's datasets/cifar10.lua, and stable_scaling's code times 255.
PUBLISHED = {
    "pad_last": ((125.3, 123.0, 113.9), (63.0, 62.1, 66.7)),
    "pad_first": ((0.4914 * 255, 0.4822 * 255, 0.4465 * 255), (0.2023 * 255, 0.1994 * 255, 0.2010 * 255)),
}


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
    """Images on a device, and how a recipe prepares them.

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
