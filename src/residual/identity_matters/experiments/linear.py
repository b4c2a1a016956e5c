"""Linear residual networks: factors of a map, and the landscape of the loss."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from resaudit.paper import Coordinates, Data, Experiment, Job, Product, at, curves, different
from residual.identity_matters.jobs.descents import Descents
from residual.identity_matters.jobs.dominance import Dominance
from residual.identity_matters.jobs.factorize import Factorize
from residual.identity_matters.linear.measured import Factorizations, Points, Runs

if TYPE_CHECKING:
    import pandas as pd

Family = Literal["gaussian", "ill-conditioned", "half-turns", "two-reflections", "positive", "negative", "mnist"]
Target = Literal["positive definite", "positive determinant", "negative determinant"]
Width = Annotated[int, Field(ge=2, le=200)]
Widths = Annotated[list[Width], Field(min_length=1), AfterValidator(different)]
Depths = Annotated[list[Annotated[int, Field(ge=1, le=10_000)]], Field(min_length=1), AfterValidator(different)]
"""Numbers of factors or layers, l."""
SearchedDepths = Annotated[list[Annotated[int, Field(ge=5, le=100)]], AfterValidator(different)]
"""At least 5: the proof needs as many factors, and a search starts from them."""
Draws = Annotated[int, Field(ge=1, le=1000)]
Condition = Annotated[float, Field(ge=1, le=1e8)]
"""A larger one leaves too few digits of doubles."""
Radius = Annotated[float, Field(gt=0, lt=1)]
"""tau."""
Steps = Annotated[int, Field(ge=1, le=1_000_000)]


class Theorem21(Experiment, name="theorem_2_1"):
    """Maps R as products of factors near the identity.

    Attributes:
        families: kinds of R.
        widths: d.
        depths: numbers of factors; those below 3 gamma are excluded, the least one allowed is added.
        runs: random maps of each kind and width.
        condition: s_max/s_min of ill-conditioned and of positive semidefinite R.
        searched_widths: d at which the smallest largest norm is searched, for one map of each kind.
        searched_depths: numbers of factors of that search.
        iterations: steps of the search, for each smoothing of the maximum.
    """

    families: Annotated[list[Family], Field(min_length=1), AfterValidator(different)]
    widths: Widths
    depths: Depths
    runs: Draws
    condition: Condition
    searched_widths: Annotated[list[Width], AfterValidator(different)] = []
    searched_depths: SearchedDepths = []
    iterations: Steps = 100

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job a kind of R."""
        sizes = Factorizations(
            tuple(self.widths), tuple(self.depths), self.runs, self.condition, tuple(self.searched_widths),
            tuple(self.searched_depths), self.iterations,
        )  # fmt: skip
        return {at(target=family): Factorize(self.whitened(data), family, sizes, seed) for family in self.families}

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every map, property and method, at the depths that the map's gamma allows, which the table has."""
        from residual.identity_matters.linear.factorization import least_depth
        from residual.identity_matters.theorem21 import methods_of

        maps = table.drop_duplicates(["target", "width", "draw"]).set_index(["target", "width", "draw"])["gamma"]
        places: dict[Coordinates, Sequence[Product]] = {}
        for where, job in jobs.items():
            assert isinstance(job, Factorize)
            sizes, family = job.sizes, str(dict(where)["target"])
            of_data = family == "mnist"
            for width, draw in [(job.data.components, 0)] if of_data else product(sizes.widths, range(sizes.draws)):
                searched = sizes.searched_depths if draw == 0 and (of_data or width in sizes.searched_widths) else ()
                least = least_depth(float(maps.get((family, width, draw), 0.0)))
                depths = {least, *(depth for depth in (*sizes.depths, *searched) if depth >= least)}
                for name, method, chosen in methods_of(family, depths, depths.intersection(searched)):
                    place = at(property=name, target=family, method=method, width=width, draw=draw)
                    places |= {place: [{"depth": chosen}]} if chosen else {}
        return places


class Theorem22(Experiment, name="theorem_2_2"):
    """Gradient dominance at points and along gradient descent, and where descents end.

    Attributes:
        widths: d of random points.
        depths: l of random points.
        radii: tau of random points and of the search.
        runs: random points of each size and radius.
        condition: condition number of their Sigma.
        searched_width: d at which a search tries to violate eq. 2.3.
        searched_depths: l of the search.
        searched_runs: starts of the search.
        iterations: steps of the search.
        real_depths: l of networks that learn MNIST's map.
        real_epochs: steps of that gradient descent.
        targets: kinds of random maps that networks learn.
        descent_width: d of networks that learn random maps.
        descent_depths: l of these networks.
        descent_epochs: steps of their gradient descent, where no A of the domain has the map.
        arrival_epochs: the same, where some A has it (det R > 0): a run that has not arrived by then is undecided.
        descent_runs: runs of each start, each with its own map.
        descent_condition: condition number of these maps.
        starts: each c starts runs with all A_i of spectral norm c/l; excluded where that is not below 1.
        rate: learning rate times the curvature of f/2 at the start or the optimum; 2 is unstable.
        kept: number of steps that are measured.
        radius: tau of the domain in which a run must stay.
    """

    of_table = ("radius",)

    widths: Widths
    depths: Depths
    radii: Annotated[list[Radius], Field(min_length=1), AfterValidator(different)]
    runs: Draws
    condition: Condition
    searched_width: Width
    searched_depths: Depths
    searched_runs: Draws
    iterations: Steps
    real_depths: Depths
    real_epochs: Steps
    targets: Annotated[list[Target], Field(min_length=1), AfterValidator(different)]
    descent_width: Width
    descent_depths: Depths
    descent_epochs: Steps
    arrival_epochs: Steps
    descent_runs: Draws
    descent_condition: Condition
    starts: Annotated[list[Annotated[float, Field(ge=0, le=1000)]], Field(min_length=1), AfterValidator(different)]
    rate: Annotated[float, Field(gt=0, lt=2)]
    kept: Annotated[int, Field(ge=2, le=1000)]
    radius: Radius

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """The points, and one job for each kind of map that is learned."""
        radii, real = tuple(self.radii), self.whitened(data)
        random = Points(tuple(self.widths), tuple(self.depths), radii, self.runs, self.condition, 0)
        search = Points(
            (self.searched_width,), tuple(self.searched_depths), radii, self.searched_runs, self.condition,
            self.iterations,
        )  # fmt: skip
        descents = {"mnist": self._runs(self.real_depths, self.real_epochs)} | {
            str(name): self._runs(
                self.descent_depths, self.descent_epochs if name == "negative determinant" else self.arrival_epochs
            )
            for name in self.targets
        }
        return {
            at(part="random"): Dominance(random, seed),
            at(part="search"): Dominance(search, seed),
            **{at(part="descent", target=name): Descents(real, name, runs, seed) for name, runs in descents.items()},
        }

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every point and search, and every run; one that arrives or diverges has the first of the kept steps."""
        from residual.identity_matters.theorem22 import rows_of_points, rows_of_run

        places: dict[Coordinates, Sequence[Product]] = {}
        of_points, of_runs = (
            dict(iter(table.groupby(list(columns))))
            for columns in (("width", "depth", "radius"), ("target", "depth", "start", "draw"))
        )
        for where, job in jobs.items():
            if isinstance(job, Dominance):
                points = job.points
                for width, depth, radius in product(points.widths, points.depths, points.radii):
                    here = of_points.get((width, depth, radius), table[:0])
                    for name, target, draws in rows_of_points(dict(where)["part"], points.draws, here):
                        place = at(property=name, target=target, width=width, depth=depth, radius=radius)
                        places[place] = [{"draw": draws}]
            if isinstance(job, Descents):
                steps = curves.recorded_epochs(job.runs.steps, set(table["epoch"]))
                for depth, draw in product(job.runs.depths, range(job.runs.draws)):
                    for start in job.runs.starts_of(job.target, depth, draw):
                        here = of_runs.get((job.target, depth, start, draw), table[:0])
                        for name, epochs in rows_of_run(job.target, steps, here):
                            place = at(property=name, target=job.target, depth=depth, start=start, draw=draw)
                            places[place] = [{"epoch": epochs}]
        return places

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """The radius, and each job's result by coordinates."""
        return self.radius, super().read(jobs, results)

    def _runs(self, depths: list[int], epochs: int) -> Runs:
        return Runs(
            tuple(depths), self.descent_width, tuple(self.starts), self.descent_runs, self.descent_condition, self.rate,
            epochs, self.kept,
        )  # fmt: skip

    @model_validator(mode="after")
    def _some_start(self) -> Self:
        for depth in (*self.real_depths, *self.descent_depths):
            if min(self.starts) >= depth:
                raise ValueError(
                    f"has starts from {min(self.starts):g}, whose norm c/l is not below 1 at depth {depth}; allowed: "
                    "a start below each depth"
                )
        return self
