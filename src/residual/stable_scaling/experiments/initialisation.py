"""The network at initialisation: norms of states, products of layers, gradients."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from resaudit.paper import Coordinates, Data, Experiment, Job, Model, Product, at, bounded, different
from residual.stable_scaling.jobs.backpropagate import Backpropagate
from residual.stable_scaling.jobs.product_norms import ProductNorms
from residual.stable_scaling.jobs.propagate import Propagate
from residual.stable_scaling.network.setting import (
    Network,
    Samples,
    layers_kept,
    product_scale,
    scaling_factor,
    stable_tau,
)

if TYPE_CHECKING:
    import pandas as pd

Depth = Annotated[int, Field(ge=2, le=100_000)]
"""L; the layers before the last are residual."""
Depths = Annotated[list[Depth], Field(min_length=1), AfterValidator(different)]
Width = Annotated[int, Field(ge=2, le=16_384)]
Widths = Annotated[list[Width], Field(min_length=1), AfterValidator(different)]
Powers = Annotated[list[Annotated[float, Field(ge=0, le=2)]], Field(min_length=1), AfterValidator(different)]
"""a of tau = L^-a."""


class Initialised(Experiment):
    """Networks at initialisation.

    Attributes:
        inputs: ``mnist``: random training images of the figure's data set; ``sphere``: uniform on the unit sphere.
        norm: norm of images: ``each`` 1, mean square 1 (``mean``), or that of ``pixels`` from 0 to 1.
        start: law of A, or ``unit``: Gaussian and h_0 scaled to norm 1.
        samples: inputs of each run.
        runs: draws of weights and inputs.
        kept: layers of a network whose values are kept.
    """

    inputs: Annotated[list[Literal["mnist", "sphere"]], Field(min_length=1), AfterValidator(different)]
    norm: Literal["each", "mean", "pixels"] = "each"
    start: Literal["gaussian", "uniform", "unit"] = "gaussian"
    samples: Annotated[int, Field(ge=1, le=1000)]
    runs: bounded.Runs
    kept: Annotated[int, Field(ge=2, le=1000)]

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """Each job with its result, by coordinates."""
        return {where: (job, job.read(results)) for where, job in jobs.items()}

    def shared(self, law: str, data: Data, seed: int, samples: int | None = None) -> dict[str, Any]:
        """The arguments that all jobs have."""
        images = self.whitened(data).data if law == "mnist" else None
        inputs = Samples(law, samples or self.samples, norm=self.norm)
        return {"data": images, "samples": inputs, "kept": self.kept, "seed": seed}

    def network(self, width: int, depth: int, tau: float | None, branch: str = "plain") -> Network:
        """A network with the configured start."""
        return Network(width, depth, tau, branch, self.start)


class Stable(Model):
    """Networks with the largest tau of Theorem 2.

    Attributes:
        c: half the width of the interval [1 - c, 1 + c].
        width: m, so that the theorem promises something.
        depths: L.
    """

    c: Annotated[float, Field(gt=0, lt=1)]
    width: Width
    depths: Depths

    def __str__(self) -> str:
        return f"c = {self.c:g} at width {self.width} and depths to {max(self.depths)}"


class Normalised(Model):
    """The network of Proposition 1, with tau = 1.

    Attributes:
        branch: what the entries of W_l h are normalised over: the batch, the units, or what is expected over W_l.
        width: m.
        depth: L.
        samples: samples in a batch.
        runs: draws.
    """

    branch: Literal["batch-norm", "layer-norm", "expected-norm"]
    width: Width
    depth: Depth
    samples: Annotated[int, Field(ge=2, le=1000)]
    runs: bounded.Runs

    def __str__(self) -> str:
        return (
            f"by {self.branch} at width {self.width} and depth {self.depth}, {self.samples} samples, {self.runs} runs"
        )


class Forward(Initialised, name="forward"):
    """Norms of hidden states against depth, tau and width.

    Attributes:
        widths: m.
        depths: L.
        powers: a of tau = L^-a.
        stable: networks of Theorem 2, each with ``stable_runs`` draws.
        stable_runs: draws of these networks.
        normalised: the network of Proposition 1.
    """

    widths: Widths
    depths: Annotated[Depths, Field(min_length=2)]
    powers: Powers
    stable: Annotated[list[Stable], Field(min_length=1)]
    stable_runs: bounded.Runs
    normalised: Normalised

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """For each kind of inputs the grid of networks, those of Theorem 2, and that of Proposition 1."""
        jobs: dict[Coordinates, Job] = {}
        grid = tuple(
            self.network(m, depth, scaling_factor(depth, a))
            for m in self.widths for a in self.powers for depth in self.depths
        )  # fmt: skip
        stable = tuple(self.network(s.width, depth, stable_tau(depth, s.c)) for s in self.stable for depth in s.depths)
        normal = self.normalised
        network = self.network(normal.width, normal.depth, 1.0, normal.branch)
        for law in self.inputs:
            shared = self.shared(law, data, seed)
            of_batch = self.shared(law, data, seed, normal.samples)
            jobs[at(part="grid", inputs=law)] = Propagate(networks=grid, runs=self.runs, **shared)
            shared = shared | {"kept": 2}
            jobs[at(part="stable", inputs=law)] = Propagate(networks=stable, runs=self.stable_runs, **shared)
            jobs[at(part="normalised", inputs=law)] = Propagate(networks=(network,), runs=normal.runs, **of_batch)
        return jobs

    def with_runs(self, read: int, wanted: int) -> dict[str, int]:
        """Each part has a number of runs of its own."""
        numbers = {"runs": self.runs, "stable_runs": self.stable_runs, "normalised.runs": self.normalised.runs}
        least = min(runs for runs in numbers.values() if runs >= read)
        return {key: wanted for key, runs in numbers.items() if runs == least}

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every run of every network; of Theorem 2 and of layers, in the widest and deepest of the grid, means."""
        places: dict[Coordinates, Sequence[Product]] = {}
        for where, job in jobs.items():
            assert isinstance(job, Propagate)
            for network, label in zip(job.networks, self._labels()[dict(where)["part"]], strict=True):
                size, runs = {"width": network.width, "depth": network.depth}, range(job.runs)
                layers = layers_kept(network.depth, job.kept)
                place = at(**dict(where) | size, power=label.get("power", -1.0))
                if "power" in label:
                    places[place] = [{"layer": layers[-1:], "run": runs}]
                    if size == {"width": max(self.widths), "depth": max(self.depths)}:
                        along = at(**dict(where) | size | {"part": "layers"}, power=label["power"])
                        places[along] = [{"layer": layers, "run": [-1]}]
                else:
                    of_runs = {"layer": layers, "run": runs} if "branch" in label else {"layer": [-1], "run": [-1]}
                    places[place] = [of_runs]
        return places

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """The jobs with their results, and the c and power of each network by job."""
        return super().read(jobs, results), self._labels()

    def _labels(self) -> dict[str, list[dict[str, Any]]]:
        grid = [{"power": a} for _ in self.widths for a in self.powers for _ in self.depths]
        stable = [{"c": each.c} for each in self.stable for _ in each.depths]
        return {"grid": grid, "stable": stable, "normalised": [{"branch": self.normalised.branch}]}


class LayerProducts(Initialised, name="product_norms"):
    """Spectral norms of products of layers.

    Attributes:
        width: m.
        depths: L.
        bounds: c of 1 + c; tau is the largest for which appendix B bounds every product by it.
        powers: a of further networks with tau = L^-a, which no theorem bounds by a stated number.
    """

    width: Width
    depths: Depths
    bounds: Annotated[list[Annotated[float, Field(gt=0, le=100)]], Field(min_length=1), AfterValidator(different)]
    powers: list[Annotated[float, Field(ge=0, le=2)]]

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """By kind of inputs, and ``bound`` or ``power``: one job for all depths."""
        taus = {("bound", c): [(product_scale(c) / depth) ** 0.5 for depth in self.depths] for c in self.bounds}
        taus |= {("power", a): [scaling_factor(depth, a) for depth in self.depths] for a in self.powers}
        return {
            at(inputs=law, **{law_of_tau: value}): ProductNorms(
                networks=tuple(map(partial(self.network, self.width), self.depths, of_law)),
                runs=self.runs,
                **self.shared(law, data, seed),
            )
            for law in self.inputs
            for (law_of_tau, value), of_law in taus.items()
        }

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every run at every depth, and at the greatest one the pairs of layers that the table has."""
        from residual.stable_scaling.products import properties_of

        places: dict[Coordinates, Sequence[Product]] = {}
        for where, job in jobs.items():
            assert isinstance(job, ProductNorms)
            largest, pair = properties_of(dict(where))
            whole = {"run": range(job.runs), "first": [-1], "last": [-1]}
            for network in job.networks:
                places[at(property=largest, inputs=dict(where)["inputs"], depth=network.depth)] = [whole]
            if pair:
                deepest = max(network.depth for network in job.networks)
                places[at(property=pair, inputs=dict(where)["inputs"], depth=deepest)] = [{"run": [-1]}]
        return places


class Backward(Initialised, name="backward"):
    """Norms of gradients against depth, of residual networks with tau = L^-a and of the plain feedforward network.

    Attributes:
        widths: m.
        depths: L.
        powers: a.
    """

    widths: Widths
    depths: Annotated[Depths, Field(min_length=2)]
    powers: Powers

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job for each kind of inputs and width."""
        return {
            at(inputs=law, width=width): Backpropagate(
                networks=tuple(self.network(width, depth, tau) for depth in self.depths for tau in self.taus(depth)),
                runs=self.runs, **self.shared(law, data, seed),
            )
            for law in self.inputs
            for width in self.widths
        }  # fmt: skip

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every run of every network, and at the greatest depth means at every kept layer."""
        from residual.stable_scaling.backward import LAYERS, names_of

        places: dict[Coordinates, Sequence[Product]] = {}
        for where, job in jobs.items():
            assert isinstance(job, Backpropagate)
            deepest, names = max(self.depths), names_of(self.powers) * len(self.depths)
            for network, name in zip(job.networks, names, strict=True):
                place = dict(where) | {"network": name, "depth": network.depth}
                places[at(part="depth", **place)] = [{"layer": [-1], "run": range(job.runs)}]
                if network.depth == deepest:
                    places[at(part=LAYERS, **place)] = [{"layer": layers_kept(deepest, job.kept), "run": [-1]}]
        return places

    def taus(self, depth: int) -> list[float | None]:
        """The tau of every power, then None for the plain network."""
        return [*(scaling_factor(depth, a) for a in self.powers), None]

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """The jobs with their results, then the powers."""
        return super().read(jobs, results), self.powers
