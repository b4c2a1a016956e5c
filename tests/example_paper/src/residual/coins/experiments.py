"""Experiments of "A Note on Coins"."""

from typing import Annotated

from pydantic import Field
from residual.coins.jobs import Toss

from resaudit.paper import Coordinates, Data, Experiment, Job, at


class CoinTosses(Experiment, name="tosses"):
    """Coins of several biases.

    Attributes:
        biases: probabilities of heads.
        tosses: of each coin.
    """

    biases: Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]
    tosses: Annotated[int, Field(ge=1)]

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job a coin."""
        return {at(bias=bias): Toss(bias, self.tosses, seed) for bias in self.biases}
