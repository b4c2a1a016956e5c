"""Experiments of this paper alone: pre-activation residual networks on images."""

import re
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from residual.images.experiments import LARGEST_BATCH, ImageDepths, ImageTraining
from residual.images.setting import Network, PreActivation

RESNET = "resnet"
"""The usual network, of shortcut depth 2."""


class PreActivationTraining(ImageTraining, name="preactivation_training"):
    """Pre-activation residual networks as in fb.resnet.torch, with shortcuts of any depth.

    Attributes:
        networks: ``resnet``, or ``k-shortcut`` with shortcuts of depth k.
        depths: layers, two more than a multiple of three times the shortcut depth.
        statistics: samples of a batch over which batch norm takes its statistics.
    """

    depths: ImageDepths
    statistics: Annotated[int, Field(ge=2, le=LARGEST_BATCH)] = 128

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network at every depth."""
        return ((name, depth) for name in self.networks for depth in self.depths)

    def network(self, name: str, depth: int) -> Network:
        """A network's settings."""
        match = re.fullmatch("([1-9][0-9]?)-shortcut", "2-shortcut" if name == RESNET else name)
        if match is None:
            raise ValueError(f"has the network {name!r}; allowed: {RESNET}, 1-shortcut, 2-shortcut, …")
        return PreActivation(depth, int(match[1]), self.statistics)
