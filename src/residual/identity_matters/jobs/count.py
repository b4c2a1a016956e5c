"""The convolutions of a network and their trainable weights, counted in the network itself."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from resaudit.jobs.job import Cost, Job, Work
from resaudit.jobs.results import read_result
from resaudit.jobs.tolerance import Tolerance
from residual.images.measured import Architecture, LayerCounts


@dataclass(frozen=True)
class Count(Job):
    """One network.

    Attributes:
        network: its name.
        architecture: from which it is built.
    """

    kind: ClassVar[str] = "count"
    files: ClassVar[tuple[str, ...]] = ("counts.npz",)
    typical: ClassVar[Cost] = Cost(4.0, 560.0)
    arrays: ClassVar[Mapping[str, str]] = {
        "counts.npz": "layer:U kernel:i8 inputs:i8 outputs:i8 stride:i8 weights:i8 trainable:i8[]",
    }

    network: str
    architecture: Architecture

    @property
    def stem(self) -> str:
        """The network."""
        return self.network

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        return {}

    def run(self, work: Work) -> dict[str, Any]:
        """Build and count."""
        from residual.images.networks.all_convolutional import count_layers

        return {"counts.npz": count_layers(self.architecture)}

    def read(self, results: Path) -> LayerCounts:
        """The counts; raises ResauditError as :func:`resaudit.jobs.results.read_result`."""
        return read_result(self, results, "counts.npz", LayerCounts)
