"""The base of experiments that train networks on images: settings, jobs, and one table for all of them."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from resaudit.paper import Coordinates, Data, Experiment, Job, Product, at, bounded, different
from residual.images.jobs import TrainImages
from residual.images.schedule import Records, Schedule
from residual.images.setting import Network, Recipe, check

if TYPE_CHECKING:
    import pandas as pd

LARGEST_STEPS = 10_000_000
LARGEST_BATCH = 100_000

Reading = Literal["last", "best", "best_of_halves"]
"""The test error of the last epoch, the least so far, or the least so far on either half of the test images."""
Steps = Annotated[int, Field(ge=1, le=LARGEST_STEPS)]
ImageDepth = Annotated[int, Field(ge=3, le=10_000)]
"""Layers of a network on images."""
ImageDepths = Annotated[list[ImageDepth], Field(min_length=1), AfterValidator(different)]


class ImageTraining(Experiment):
    """Networks that train on images by SGD with momentum, several runs of each.

    Attributes:
        networks: names as in the figure's legend.
        runs: seeds of each setting.
        runs_per_job: at most so many runs are one job, which trains them one after the other, on a GPU four at once.
        shared_start: all runs of a network start from the same weights.
        samples: the first training images are used; null: all.
        epochs: length of the training; null: ``steps`` has it.
        steps: length of the training, which runs on across epochs.
        learning_rates: tried for every network.
        milestones: the first epochs (from 1) or steps (from 0) at the rate divided by ten, by a hundred, ….
        warm_up: steps at a tenth of the rate at the start.
        batch: images of a step.
        momentum: momentum of SGD.
        nesterov: whether it is Nesterov's.
        weight_decay: weight decay of the ``decayed`` parameters.
        decayed: all parameters or convolutions.
        augmentation: order of normalization, padding, crop and flip.
        evaluations: recorded points of a training, evenly spaced; null: every epoch.
        reading: the test error that is reported.
    """

    of_table: ClassVar[tuple[str, ...]] = ("reading",)
    of_jobs: ClassVar[tuple[str, ...]] = ("runs_per_job",)
    needs_gpu: ClassVar[bool] = True

    networks: bounded.Names
    runs: bounded.Runs
    runs_per_job: bounded.Runs = 5
    shared_start: bool = False
    samples: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    epochs: Annotated[int, Field(ge=1, le=10_000)] | None = None
    steps: Steps | None = None
    learning_rates: bounded.Rates
    milestones: Annotated[list[Steps], AfterValidator(different)]
    warm_up: Annotated[int, Field(ge=0, le=LARGEST_STEPS)] = 0
    batch: Annotated[int, Field(ge=1, le=LARGEST_BATCH)]
    momentum: Annotated[float, Field(ge=0, lt=1)]
    nesterov: bool = False
    weight_decay: Annotated[float, Field(ge=0)]
    decayed: Literal["all", "convolutions"] = "all"
    augmentation: Literal["pad_last", "pad_first", "standardise"]
    evaluations: Steps | None = None
    reading: Reading = "best"

    def places(self) -> Iterator[tuple[str, int]]:
        """Every network's name and depth."""
        raise NotImplementedError

    def network(self, name: str, depth: int) -> Network:
        """A network's settings by its name and depth."""
        raise NotImplementedError

    def recipe(self, learning_rate: float) -> Recipe:
        """The recipe at a learning rate."""
        same = ("warm_up", "batch", "momentum", "nesterov", "weight_decay", "decayed", "augmentation", "evaluations")
        return Recipe(
            length=self.epochs or self.steps or 0,
            unit="steps" if self.epochs is None else "epochs",
            learning_rate=learning_rate,
            milestones=tuple(sorted(self.milestones)),
            **{key: getattr(self, key) for key in same},
        )

    def jobs(self, data: Data, seed: int) -> dict[Coordinates, Job]:
        """A training by ``network``, ``depth``, ``learning_rate`` and ``first_run``."""
        images, most = self.images(data), self.runs_per_job
        groups = [tuple(range(first, min(first + most, self.runs))) for first in range(0, self.runs, most)]
        return {
            at(network=name, depth=depth, learning_rate=rate, first_run=runs[0]): TrainImages(
                images, self.network(name, depth), self.recipe(rate), runs, seed, self.shared_start, self.samples
            )
            for name, depth in self.places()
            for rate in self.learning_rates
            for runs in groups
        }

    def expected(
        self, jobs: Mapping[Coordinates, Job], keys: Sequence[str], table: "pd.DataFrame"
    ) -> Mapping[Coordinates, Sequence[Product]]:
        """Every run at every evaluation, of trainings counted in steps from the first on; or at the last alone.

        How many steps an epoch has the data decide: of the table's largest step the share that the epochs have.
        """
        places = dict[Coordinates, list[Product]]()
        for where, job in jobs.items():
            assert isinstance(job, TrainImages)
            place = tuple((key, value) for key, value in where if key != "first_run")
            # With an epoch of one step.
            evaluated = Schedule(job.recipe, job.recipe.batch).evaluated[0 if self.epochs else 1 :]
            along = {}
            for key in [key for key in ("epoch", "step") if key in keys]:
                last = table["step"].max() if self.epochs and key == "step" else job.recipe.length
                values = evaluated * last // job.recipe.length
                along[key] = (values[-1:] if len(table[key].unique()) == 1 else values).tolist()
            places.setdefault(place, []).append({"run": job.runs, **along})
        return places

    def read(self, jobs: Mapping[Coordinates, Job], results: Path) -> "pd.DataFrame":
        """A table of all evaluations of all runs.

        Columns: network, depth, learning_rate, run, step, epoch (whole if the training is counted in epochs),
        train_loss and train_error (since the evaluation before; nan at the first), test_loss, test_error, error (the
        test error as ``reading`` reports it), mean_frobenius_norm (over the weight tensors). Errors are in %.
        """
        import pandas as pd

        tables = [self._table(dict(place), job.read(results)) for place, job in jobs.items()]
        return pd.concat(tables, ignore_index=True)

    def _table(self, place: Mapping[str, Any], records: Records) -> "pd.DataFrame":
        import pandas as pd

        runs, evaluations = records.test_error.shape
        epoch = records.epoch if self.epochs is None else np.rint(records.epoch).astype(int)
        columns = {
            "train_loss": records.train_loss,
            "train_error": 100 * records.train_error,
            "test_loss": records.test_loss,
            "test_error": 100 * records.test_error,
            "error": 100 * reported(records, self.reading),
            "mean_frobenius_norm": records.norms.mean(axis=2),
        }
        return pd.DataFrame(
            {
                **{name: [place[name]] * (runs * evaluations) for name in ("network", "depth", "learning_rate")},
                "run": np.repeat(records.run, evaluations),
                "step": np.tile(records.step, runs),
                "epoch": np.tile(epoch, runs),
                **{name: values.ravel() for name, values in columns.items()},
            }
        )

    def in_words(self) -> dict[str, Any]:
        """Without what is not set."""
        every = {"evaluations": "every epoch"} if self.evaluations is None else {}
        return {key: None for key in ("epochs", "steps") if getattr(self, key) is None} | every

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError(f"has epochs {self.epochs} and steps {self.steps}; give one of them, null for the other")
        if self.steps is not None and self.evaluations is None:
            raise ValueError("has steps and no evaluations; say how many points of a training are recorded")
        return self

    @model_validator(mode="after")
    def _networks_exist(self) -> Self:
        for name, depth in self.places():
            network = self.network(name, depth)
            try:
                check(network)
            except ValueError as error:
                raise ValueError(f"is wrong for {name}: {error}") from None
        return self


def reported(records: Records, reading: Reading) -> np.ndarray:
    """Test errors as a paper would report them at each evaluation, shape (R, E); 1 where a run has diverged.

    Args:
        records: records of R runs with E evaluations.
        reading: ``last``: as measured; ``best``: the least so far; ``best_of_halves``: the least so far on either half
            of the test images.
    """
    if reading == "last":
        return records.test_error
    errors = records.test_error if reading == "best" else records.test_error_halves.min(axis=2)
    # Its best error before would count it as trained.
    return np.where(np.isinf(records.test_loss), 1.0, np.minimum.accumulate(errors, axis=1))
