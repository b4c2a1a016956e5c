"""The base of experiments with trained or initialized networks."""

from collections.abc import Iterator
from math import log10
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from resaudit.experiments.experiment import Experiment
from resaudit.networks.ensemble import Ensemble
from resaudit.networks.network import Network, base_name, network_named, period_of, shortcut_depth_of
from resaudit.schema import Model, different

# Upper bounds keep a typing error from planning more than a machine can hold.
LARGEST_DEPTH = 10_000
"""Weight matrices; ten times the deepest network drawn."""
LARGEST_RUNS = 10_000
"""Seeds, or draws of a theorem; twenty times the most used."""
LARGEST_EPOCHS = 100_000
"""Steps of gradient descent; a hundred times the paper's. The plan lists every epoch that is kept."""

MOST_OF_A_GRID = 1000
"""Numbers of a :class:`Grid`; forty times the most used."""

Depth = Annotated[int, Field(ge=1, le=LARGEST_DEPTH)]
"""Number of weight matrices."""
Runs = Annotated[int, Field(ge=1, le=LARGEST_RUNS)]
"""Number of seeds."""
Epochs = Annotated[int, Field(ge=1, le=LARGEST_EPOCHS)]
"""Steps of full-batch gradient descent."""
Rate = Annotated[float, Field(gt=0)]
"""Learning rate."""
Names = Annotated[list[str], Field(min_length=1), AfterValidator(different)]
Depths = Annotated[list[Depth], Field(min_length=1), AfterValidator(different)]
Key = tuple[str, int]
"""Network name and depth."""


class Grid(Model):
    """Numbers at equal distances on a logarithmic axis, ``{from: 1.0e-4, to: 31.6, per_decade: 4}`` in YAML.

    Attributes:
        first: the least number.
        to: the largest, of which two digits are enough.
        per_decade: numbers for each factor of ten.
    """

    first: Annotated[float, Field(alias="from", ge=1e-12, le=1e12)]
    to: Annotated[float, Field(ge=1e-12, le=1e12)]
    per_decade: Annotated[int, Field(ge=1, le=MOST_OF_A_GRID)]

    def numbers(self) -> list[float]:
        """Its numbers, rounded to 12 digits to be the same on every machine.

        >>> Grid.model_validate({"from": 0.1, "to": 3.16, "per_decade": 2}).numbers()
        [0.1, 0.316227766017, 1.0, 3.16227766017]
        """
        count = round(self._steps) + 1
        return [float(f"{10 ** (log10(self.first) + i / self.per_decade):.12g}") for i in range(count)]

    @property
    def _steps(self) -> float:
        return (log10(self.to) - log10(self.first)) * self.per_decade

    @model_validator(mode="after")
    def _ends_at_a_number(self) -> Self:
        if not 0 <= self._steps < MOST_OF_A_GRID:
            raise ValueError(f"gives none or over {MOST_OF_A_GRID} numbers; allowed: from <= to, and fewer per_decade")
        if abs(self._steps - round(self._steps)) > 0.05:
            nearest = self.numbers()[-1]
            raise ValueError(f"has to {self.to:.3g}, between two of its numbers; the nearest is {nearest:.3g}")
        return self


def _numbers(given: Any) -> Any:
    return Grid.model_validate(given).numbers() if isinstance(given, dict) else given


SomeRates = Annotated[list[Rate], AfterValidator(different), BeforeValidator(_numbers)]
"""A list, or a :class:`Grid`; possibly none."""
Rates = Annotated[SomeRates, Field(min_length=1)]


class RunsAt(Model):
    """Fewer runs at one expensive depth.

    Attributes:
        depth: number of weight matrices.
        runs: at this depth, at most.
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

    def runs_of(self, network: str, depth: int) -> int:  # noqa: ARG002
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
    """A network by its name in figures.

    Raises:
        ValueError: no network has that name and depth; the message lists what is allowed.
    """
    try:
        return network_named(name, depth, width=1)
    except ValueError as error:
        hint = "" if " network " in f" {error}" else f"; allowed for {name}: multiples of {period_of(name)}"
        raise ValueError(f"is wrong: {error}{hint}") from None


def checked_name(name: str) -> str:
    """A network's name.

    Raises:
        ValueError: no network has it.
    """
    try:
        shortcut_depth_of(name)
    except ValueError as error:
        raise ValueError(f"is wrong: {error}") from None
    return name
