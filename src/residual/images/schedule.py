"""A recipe's steps: how many, which samples each sees, at which learning rate; and what is recorded. No torch."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from resaudit.paper import Tolerance, arrays
from residual.images.setting import Recipe


@dataclass(frozen=True)
class Schedule:
    """Steps of a recipe on a number of images."""

    recipe: Recipe
    images: int  # of the training set, at least one batch

    @property
    def steps_an_epoch(self) -> int:
        """In ``epochs`` the last batch of an epoch may be smaller; in ``steps`` there is no such batch."""
        return -(-self.images // self.recipe.batch)

    @property
    def smaller_batch(self) -> int:
        """Images of the last batch of an epoch where it is smaller than the others, else 0.

        >>> recipe = Recipe(2, "epochs", 0.1, (), 128, "pad_last")
        >>> Schedule(recipe, 50_000).smaller_batch, Schedule(recipe, 49_920).smaller_batch
        (80, 0)
        """
        return self.images % self.recipe.batch if self.recipe.unit == "epochs" else 0

    @property
    def steps(self) -> int:
        """The number of steps of the whole training."""
        return self.recipe.length * (self.steps_an_epoch if self.recipe.unit == "epochs" else 1)

    def samples(self, step: int) -> tuple[int, int]:
        """First and last + 1 position of a step, counted from 0, in the sequence of samples.

        >>> recipe = Recipe(2, "epochs", 0.1, (), 128, "pad_last")
        >>> Schedule(recipe, 50_000).samples(390), Schedule(recipe, 50_000).samples(391)
        ((49920, 50000), (50000, 50128))
        """
        if self.recipe.unit == "steps":
            return step * self.recipe.batch, (step + 1) * self.recipe.batch
        epoch, place = divmod(step, self.steps_an_epoch)
        first = epoch * self.images + place * self.recipe.batch
        return first, min(first + self.recipe.batch, (epoch + 1) * self.images)

    def learning_rate(self, step: int) -> float:
        """The rate of a step, counted from 0.

        >>> schedule = Schedule(Recipe(164, "epochs", 0.1, (81, 122), 128, "pad_last", warm_up=400), 50_000)
        >>> [schedule.learning_rate(step) for step in (399, 400, 80 * 391 - 1, 80 * 391, 121 * 391)]
        [0.01, 0.1, 0.1, 0.01, 0.001]
        """
        recipe = self.recipe
        at = step // self.steps_an_epoch + 1 if recipe.unit == "epochs" else step
        tenths = sum(milestone <= at for milestone in recipe.milestones) + (step < recipe.warm_up)
        return float(recipe.learning_rate / 10**tenths)

    @property
    def evaluated(self) -> np.ndarray:
        """Steps done at each evaluation, from 0 to all; int64.

        >>> Schedule(Recipe(5, "epochs", 0.1, (), 128, "pad_last", evaluations=2), 256).evaluated
        array([ 0,  4, 10])
        """
        recipe = self.recipe
        whole = recipe.length if recipe.unit == "epochs" else max(1, recipe.length * recipe.batch // self.images)
        number = min(recipe.evaluations or whole, recipe.length)
        steps = self.steps_an_epoch if recipe.unit == "epochs" else 1
        return np.arange(number + 1) * recipe.length // number * steps

    @property
    def epochs(self) -> np.ndarray:
        """Epochs done at each evaluation, float64."""
        if self.recipe.unit == "epochs":
            return self.evaluated / self.steps_an_epoch
        return self.evaluated * self.recipe.batch / self.images


# Minibatch training is chaotic: after some epochs two machines share statistics, not weights. Measured with AVX in
# place of AVX2, four ResNets of depth 8, four epochs of 10 000 images: test losses at most 34 % apart, errors 0.1,
# norms 4 %.
Loss = Annotated[arrays.Float, arrays.Shape("runs", "times"), Tolerance(relative=0.3, differing=0.1, chaotic=True)]
Error = Annotated[arrays.Float, arrays.Shape("runs", "times"), Tolerance(absolute=0.1, differing=0.1, chaotic=True)]


@dataclass(frozen=True)
class Records:
    """Evaluations of runs. A diverged run has losses and norms of inf, and errors of 1."""

    run: Annotated[arrays.Int, arrays.Shape("runs")]  # number of each run
    step: Annotated[
        arrays.Int, arrays.Shape("times")
    ]  # steps done at each evaluation; the first is before the first step
    epoch: Annotated[arrays.Float, arrays.Shape("times")]  # epochs done
    learning_rate: Annotated[arrays.Float, arrays.Shape("times")]  # of the step before; nan at the first
    train_loss: Loss  # mean over the augmented images since the last evaluation; nan at the first
    train_error: Error  # their share of wrong answers; nan at the first
    test_loss: Loss  # mean over all test images
    test_error: Error  # share of wrong answers
    test_error_halves: Annotated[Error, arrays.Shape("runs", "times", 2)]  # the same on either half of the test images
    # Frobenius norm of each weight tensor (matrices and kernels). Before the first step norms are equal; another seed's
    # differ by up to 2 to 7 %.
    norms: Annotated[
        arrays.Float,
        arrays.Shape("runs", "times", "tensors"),
        Tolerance(relative=0.05, differing=0.05, first=(1, 1e-6), epochs=1),
    ]
    weights: Annotated[arrays.Text, arrays.Shape("tensors")]  # their names in the network
