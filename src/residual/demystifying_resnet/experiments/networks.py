"""The base of experiments with trained or initialized networks."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from resaudit.paper import Depth, Depths, Experiment, Key, Model, Names, Runs
from residual.demystifying_resnet.networks.ensemble import Ensemble
from residual.demystifying_resnet.networks.network import Network, base_name, network_named, shortcut_depth_of


class RunsAt(Model):
    """Fewer runs at one expensive depth.

    Attributes:
        depth: number of weight matrices.
        runs: largest number of runs at this depth.
    """

    depth: Depth
    runs: Runs


class Networks(Experiment):
    """Networks of several depths, each from several seeds.

    Attributes:
        networks: names as in the figure's legend.
        depths: numbers of weight matrices.
        runs: seeds of each setting.
        runs_at: fewer runs at single depths.
        zero_scale: factor on Xavier weights that start a shortcut network.
        xavier: distribution of the Xavier initialization.
    """

    networks: Names
    depths: Depths
    runs: Runs
    runs_at: list[RunsAt] = []
    zero_scale: Annotated[float, Field(ge=0)] = 0.01
    xavier: Literal["gaussian", "uniform"] = "gaussian"

    def depths_of(self, network: str) -> list[int]:
        """The depths of a network."""
        return self.depths if network in self.networks else []

    def runs_of(self, network: str, depth: int) -> int:
        """Number of runs of a network at a depth."""
        return min([self.runs, *(fewer.runs for fewer in self.runs_at if fewer.depth == depth)])

    def places(self) -> Iterator[Key]:
        """Every network and depth."""
        return ((name, depth) for name in self.networks for depth in self.depths_of(name))

    def ensemble(self, name: str, depth: int, width: int, seed: int) -> Ensemble:
        """The runs of a network at a depth."""
        network = network_named(name, depth, width)
        xavier = "xavier" if self.xavier == "gaussian" else "xavier_uniform"
        return Ensemble(
            network,
            initialization="orthogonal" if base_name(name) == "orthogonal" else xavier,
            scale=self.zero_scale if network.has_shortcuts else 1.0,
            seed=seed,
            runs=self.runs_of(name, depth),
        )

    def in_words(self) -> dict[str, str | None]:
        """Runs, with the depths that have fewer."""
        fewer = [f"{each.runs} at depth {each.depth}" for each in self.runs_at]
        return {"runs": ", ".join([str(self.runs), *fewer]), "runs_at": None}

    @model_validator(mode="after")
    def _networks_exist(self) -> Self:
        for name, depth in self.places():
            checked_network(name, depth)
        return self


class LinearNetworks(Networks):
    """Linear networks, whose Hessians have a closed form."""

    @model_validator(mode="after")
    def _networks_are_linear(self) -> Self:
        for name, depth in self.places():
            if not checked_network(name, depth).is_linear:
                raise ValueError(f"has the network {name!r}; allowed where Hessians are wanted: linear networks")
        return self


def checked_network(name: str, depth: int) -> Network:
    """A network by its name in figures, or a ValueError that lists what is allowed."""
    try:
        return network_named(name, depth, width=1)
    except ValueError as error:
        raise ValueError(f"is wrong: {error}") from None


def checked_name(name: str) -> str:
    """The name, if a network has it."""
    try:
        shortcut_depth_of(name)
    except ValueError as error:
        raise ValueError(f"is wrong: {error}") from None
    return name
