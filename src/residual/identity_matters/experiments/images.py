"""The all-convolutional residual network, trained on images."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from resaudit.paper import different
from residual.images.experiments import ImageTraining
from residual.images.setting import AllConvolutional, Network

STAGES = 3

Projection = Literal["uniform", "normal"]


class AllConvolutionalTraining(ImageTraining, name="all_convolutional_training"):
    """Table 1's network, and the same with what section 4.1 says it was compared with.

    Attributes:
        networks: ``published``; ``usual-init``: residual convolutions of deviation 1/(k sqrt(c)) instead of 1/(k^2 c);
            ``trained-projection``: the last layer is trained.
        blocks: number of blocks in each of the three stages.
        projection: law of the fixed last layer.
        leak: slope of the ReLUs below zero.
        last_relu: a ReLU comes before the average pool.
    """

    networks: Annotated[  # type: ignore[assignment]
        list[Literal["published", "usual-init", "trained-projection"]], Field(min_length=1), AfterValidator(different)
    ]
    blocks: Annotated[int, Field(ge=1, le=1000)]
    projection: Projection
    leak: Annotated[float, Field(ge=0, lt=1)]
    last_relu: bool

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network; its depth is the number of its convolutions."""
        return ((name, 1 + 2 * STAGES * self.blocks) for name in self.networks)

    def network(self, name: str, depth: int) -> Network:
        """A network's settings."""
        projection = "trained" if name == "trained-projection" else self.projection
        return AllConvolutional(self.blocks, name != "usual-init", projection, self.leak, self.last_relu)
