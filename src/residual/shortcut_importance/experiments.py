"""Experiments of "Importance of Shortcut Connections": success rates, trajectories, and planes of unknown settings."""

from collections.abc import Mapping, Sequence
from math import ceil, radians, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from resaudit.paper import Coordinates, Data, Experiment, Job, Model, Product, at, bounded, different
from residual.shortcut_importance.jobs import Proposition, Simulate, Sizes
from residual.shortcut_importance.simulation import (
    RESNET,
    SUCCESS,
    TRAPPED,
    UNDECIDED,
    WARM_UP,
    Setting,
    largest_step,
)

if TYPE_CHECKING:
    import pandas as pd

LARGEST_PATCHES = 100_000
LARGEST_CAP = 10_000_000
"""Steps; a run of one setting takes 20 s then."""
LARGEST_SIDE = 1000
SHARE_OF_LARGEST_STEP = 0.4
"""In planes of worlds, where steps are as long as is stable."""

Name = Literal["resnet-warm-up", "resnet", "cnn"]
Patches = Annotated[int, Field(ge=2, le=LARGEST_PATCHES)]
Degrees = Annotated[float, Field(ge=0, le=180)]
Rate = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0, le=1e9)]
Several = Annotated[list[Positive], Field(min_length=2), AfterValidator(different)]


class PowerOfK(Model):
    """factor * k^power, with k the number of patches.

    Attributes:
        factor: the factor of the power.
        power: the exponent of k.
    """

    factor: Positive
    power: Annotated[float, Field(ge=-6, le=6)] = 0.0

    def __str__(self) -> str:
        return f"{self.factor:g} k^{self.power:g}" if self.power else f"{self.factor:g}"

    def of(self, patches: int) -> float:
        """Its value."""
        return float(self.factor * patches**self.power)


class World(Model):
    """Teacher, step sizes and starts: what the paper's text lost.

    Attributes:
        filter_size: p.
        angle: between v* and the shortcut 1/sqrt(p), in degrees.
        squared_norm: ||a*||^2.
        alignment: 1.a*/||a*||, from -sqrt(k) to sqrt(k); 0: orthogonal to 1, sqrt(k): parallel.
        start: law of a at the start, in or on the ball of radius |1.a*|/sqrt(k).
        step: eta_a; after stage I the filter's too.
        filter_ratio: ratio of the filter's step to eta_a in stage I.
        stage_one: length of stage I as a time, number of steps * eta_a.
        cap: time after which a run is undecided.
    """

    filter_size: Annotated[int, Field(ge=1, le=LARGEST_PATCHES)]
    angle: Degrees
    squared_norm: PowerOfK
    alignment: float
    start: Literal["ball", "sphere", "worst"] = "ball"
    step: PowerOfK
    filter_ratio: PowerOfK
    stage_one: PowerOfK
    cap: Positive

    def setting(self, network: str, patches: int, step: float | None = None) -> Setting:
        """The setting of one simulation, with the world's step or another; ValueError if it cannot exist."""
        norm, step = self.squared_norm.of(patches), step or self.step.of(patches)
        if abs(self.alignment) > sqrt(patches):
            raise ValueError(
                f"has world.alignment {self.alignment:g} at k = {patches}; allowed: from -sqrt(k) to sqrt(k) = "
                f"{sqrt(patches):g}"
            )
        largest = largest_step(patches, norm)
        if step >= largest:
            raise ValueError(
                f"has world.step {step:.3g} at k = {patches}, which is unstable; allowed: less than {largest:.3g}, the "
                "lesser of 2 pi/(k + pi - 1) and 4/||a*||^2"
            )
        if self.cap / step > LARGEST_CAP:
            raise ValueError(
                f"has world.cap {self.cap:g}, {self.cap / step:.3g} steps at k = {patches}; allowed: at most "
                f"{LARGEST_CAP}"
            )
        ratio, stage_one = 1.0, 0
        if network == WARM_UP:
            ratio, stage_one = self.filter_ratio.of(patches), ceil(self.stage_one.of(patches) / step)
        return Setting(
            patches, self.filter_size, radians(self.angle), norm, self.alignment * sqrt(norm), step, ratio, stage_one,
            ceil(self.cap / step),
        )  # fmt: skip

    def steady_step(self, patches: int) -> float:
        """The step, or a smaller one where that would be unstable or near it."""
        return min(self.step.of(patches), SHARE_OF_LARGEST_STEP * largest_step(patches, self.squared_norm.of(patches)))


class Simulations(Experiment):
    """Simulations of networks in one world.

    Attributes:
        networks: ResNet with warm-up of the step size, without, and CNN.
        patches: k.
        world: teacher, step sizes and starts.
    """

    networks: Annotated[list[Name], Field(min_length=1), AfterValidator(different)]
    patches: Annotated[list[Patches], Field(min_length=1), AfterValidator(different)]
    world: World

    @model_validator(mode="after")
    def _exist(self) -> Self:
        for network in self.networks:
            for patches in self.patches:
                self.world.setting(network, patches)
        return self

    def in_words(self) -> dict[str, Any]:
        """The world, without braces."""
        return {"world": ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in self.world)}


class SuccessRates(Simulations, name="success_rates"):
    """How many runs reach the global optimum.

    Attributes:
        runs: the number for each network and k.
        published: the paper's rates by network, at ``published_patches``.
        published_patches: k.
        published_runs: the number of runs behind each.
    """

    of_table = ("published", "published_patches", "published_runs")

    runs: bounded.Runs
    published: dict[Name, list[Rate]] = {}
    published_patches: list[Patches] = []
    published_runs: Annotated[int, Field(ge=1)] = 1

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job a network."""
        settings = {name: tuple(self.world.setting(name, k) for k in self.patches) for name in self.networks}
        return {
            at(network=name): Simulate(name, settings[name], self.world.start, self.runs, seed) for name in settings
        }

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every network at every k."""
        return {place: [{"patches": self.patches}] for place in jobs}

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "pd.DataFrame":
        """A table of counts; columns: network, patches, runs, successes, trapped, undecided, published (a rate)."""
        import pandas as pd

        rows = [
            dict(place) | {"patches": k} | counts(self, dict(place)["network"], k, outcomes)
            for place, job in jobs.items()
            for k, outcomes in zip(self.patches, job.read(results).outcomes, strict=True)
        ]
        return pd.DataFrame(rows).assign(published_runs=self.published_runs)


class Trajectories(Simulations, name="trajectories"):
    """Runs followed step by step.

    Attributes:
        runs: the number for each network and k.
        until: time (steps * eta_a) at which they end.
        kept: number of steps of each stage whose states are kept, evenly spaced in the logarithm of the steps since
            its start.
    """

    runs: Annotated[int, Field(ge=1, le=LARGEST_SIDE)]
    until: Positive
    kept: Annotated[int, Field(ge=2, le=LARGEST_SIDE)]

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job a network and k."""
        jobs: dict[Coordinates, Job] = {}
        for network in self.networks:
            for k in self.patches:
                setting, last = self.world.setting(network, k), self._last(k)
                switch = min(setting.stage_one, last - 1)
                stages = [np.geomspace(1, switch, self.kept)] if switch else []
                stages.append(switch + np.geomspace(1, last - switch, self.kept))
                steps = tuple(sorted({0, *np.concatenate(stages).round().astype(int).tolist()}))
                job = Simulate(network, (setting,), self.world.start, self.runs, seed, steps)
                jobs[at(network=network, patches=k)] = job
        return jobs

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every run at every step that is kept."""
        return {place: [followed(job)] for place, job in jobs.items()}

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> Any:
        """Each job with its result, by coordinates."""
        return {place: (job, job.read(results)) for place, job in jobs.items()}

    def _last(self, patches: int) -> int:
        return max(2, round(self.until / self.world.step.of(patches)))

    @model_validator(mode="after")
    def _not_too_long(self) -> Self:
        steps = max(map(self._last, self.patches))
        if steps > LARGEST_CAP:
            raise ValueError(f"has until {self.until:g}, {steps:.3g} steps; allowed: at most {LARGEST_CAP} steps")
        return self


class Theory(Trajectories, name="theory"):
    """Proposition 16 at many sizes, and trajectories in which Theorem 2's two stages show.

    Attributes:
        networks: with warm-up; others have one stage.
        patches: one k; the table's trajectories are told apart by their runs alone.
        checked_patches: every k at which Proposition 16 is checked.
        filter_sizes: every p there; the angle of a filter of one weight has no derivative.
        draws: number of draws of teacher and student at each size.
        samples: number of inputs of the Monte Carlo.
        steps: steps of gradient descent with full vectors.
    """

    of_some_rows = ("step",)

    patches: Annotated[list[Patches], Field(min_length=1, max_length=1)]
    checked_patches: Annotated[list[Patches], Field(min_length=1), AfterValidator(different)]
    filter_sizes: Annotated[list[Annotated[int, Field(ge=2, le=LARGEST_SIDE)]], Field(min_length=1)]
    draws: bounded.Runs
    samples: Annotated[int, Field(ge=6400, le=LARGEST_CAP)]
    steps: Annotated[int, Field(ge=1, le=LARGEST_CAP)]

    @model_validator(mode="after")
    def _of_two_stages(self) -> Self:
        if self.networks != [WARM_UP]:
            raise ValueError(f"has networks {', '.join(self.networks)}; allowed: {WARM_UP}, whose runs have two stages")
        return self

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """The checks, and the trajectories."""
        sizes = Sizes(tuple(self.checked_patches), tuple(self.filter_sizes), self.draws, self.samples, self.steps)
        return {at(statement="proposition 16"): Proposition(sizes, seed), **super().jobs(data, seed)}

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every check at every size and draw, and every trajectory."""
        checked, simulated = jobs.values()
        assert isinstance(checked, Proposition)
        runs = {("draw" if key == "run" else key): values for key, values in followed(simulated).items()}
        places: dict[Coordinates, Sequence[Product]] = {
            at(filter_size=size): [{"patches": checked.sizes.patches, "draw": range(checked.sizes.draws)}]
            for size in checked.sizes.filter_sizes
        }
        return places | {at(filter_size=-1): [runs | {"patches": self.patches}]}


class PhasePortrait(Trajectories, name="phase_portrait"):
    """Trajectories of few runs, and the optimum that a run reaches from each point of a grid.

    Attributes:
        side: points of the grid in each direction: the angle, and a from -a* to a*.
    """

    patches: Annotated[list[Patches], Field(min_length=1, max_length=1)]
    side: Annotated[int, Field(ge=2, le=LARGEST_SIDE)]

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """The trajectories, and the basins with equal steps of both layers."""
        setting = self.world.setting(RESNET, self.patches[0])
        basins = Simulate(RESNET, (setting,), "grid", self.side**2, seed)
        return {at(network="any", patches=self.patches[0]): basins, **super().jobs(data, seed)}

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every run at every step that is kept, and every point of the grid."""
        places: dict[Coordinates, Sequence[Product]] = {}
        for place, job in jobs.items():
            assert isinstance(job, Simulate)
            rows = followed(job)
            kind, steps = ("run", rows["step"]) if job.steps else ("basin", [0])
            where = dict(place) | {"kind": kind, "network": job.network}
            places[at(**where)] = [{"run": rows["run"], "step": steps}]
        return places


class Worlds(Simulations, name="worlds"):
    """Success rates over planes of what the text lost, each the angle against one other setting of the world.

    Attributes:
        runs: the number for each k and world.
        angles: the angles of all planes, in degrees.
        norms: factors of ||a*||^2, without warm-up.
        alignments: without warm-up.
        stages: factors of the length of stage I, with warm-up.
        published: the paper's rates by network, at ``published_patches``.
        published_patches: k.
    """

    of_table = ("published", "published_patches")

    runs: bounded.Runs
    angles: Annotated[list[Degrees], Field(min_length=2), AfterValidator(different)]
    norms: Several
    alignments: Several
    stages: Several
    published: dict[Name, list[Rate]] = {}
    published_patches: list[Patches] = []

    def planes(self) -> dict[str, tuple[str, list[float]]]:
        """The network of each plane, and the values of its other setting."""
        return {
            "squared_norm": (RESNET, self.norms),
            "alignment": (RESNET, self.alignments),
            "stage_one": (WARM_UP, self.stages),
        }

    def in_plane(self, plane: str) -> list[tuple[float, float, World]]:
        """Angle, other value and world of every point of a plane."""
        usual = getattr(self.world, plane)
        points = []
        for angle in self.angles:
            for value in self.planes()[plane][1]:
                other = PowerOfK(factor=value, power=usual.power) if isinstance(usual, PowerOfK) else value
                points.append((angle, value, self.world.model_copy(update={"angle": angle, plane: other})))
        return points

    @model_validator(mode="after")
    def _aligned(self) -> Self:
        for alignment in self.alignments:
            self.world.model_copy(update={"alignment": alignment}).setting(RESNET, min(self.patches))
        return self

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """One job a plane."""
        jobs: dict[Coordinates, Job] = {}
        for plane, (network, _) in self.planes().items():
            worlds = [world for _, _, world in self.in_plane(plane)]
            settings = tuple(world.setting(network, k, world.steady_step(k)) for k in self.patches for world in worlds)
            jobs[at(plane=plane)] = Simulate(network, settings, self.world.start, self.runs, seed)
        return jobs

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every point of every plane for every k."""
        return {
            place: [{"patches": self.patches, "angle": self.angles, "value": self.planes()[dict(place)["plane"]][1]}]
            for place in jobs
        }

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "pd.DataFrame":
        """A table of counts.

        Columns: plane, network, patches, angle, value, runs, successes, trapped, undecided, published (a rate).
        """
        import pandas as pd

        rows = []
        for place, job in jobs.items():
            plane = dict(place)["plane"]
            network = self.planes()[plane][0]
            points = [(k, angle, value) for k in self.patches for angle, value, _ in self.in_plane(plane)]
            for (k, angle, value), outcomes in zip(points, job.read(results).outcomes, strict=True):
                row = {"plane": plane, "network": network, "patches": k, "angle": angle, "value": value}
                rows.append(row | counts(self, network, k, outcomes))
        return pd.DataFrame(rows)


def followed(job: Job) -> Product:
    """The runs of a simulation and the steps that it keeps."""
    assert isinstance(job, Simulate)
    return {"run": range(job.runs), "step": job.steps}


def counts(experiment: SuccessRates | Worlds, network: str, patches: int, outcomes: np.ndarray) -> dict[str, float]:
    """How many runs have each outcome, and the paper's rate; NaN where it prints none."""
    codes = {"successes": SUCCESS, "trapped": TRAPPED, "undecided": UNDECIDED}
    rates = {str(name): rates for name, rates in experiment.published.items()}.get(network, [])
    published = dict(zip(experiment.published_patches, rates, strict=False)).get(patches, np.nan)
    counted = {name: int((outcomes == code).sum()) for name, code in codes.items()}
    return {"runs": experiment.runs, **counted, "published": published}
