"""What is recorded of trainings on images. Imports only NumPy."""

from dataclasses import dataclass
from typing import Annotated

from resaudit.paper import Tolerance, arrays

# Minibatch training is chaotic: after some epochs two machines share statistics, not weights. Measured with AVX in
# place of AVX2, four ResNets of depth 8, four epochs of 10 000 images: test losses at most 34 % apart, errors 0.1,
# norms 4 %.
Loss = Annotated[arrays.Float, arrays.Shape("runs", "times"), Tolerance(relative=0.3, differing=0.1, chaotic=True)]
Error = Annotated[arrays.Float, arrays.Shape("runs", "times"), Tolerance(absolute=0.1, differing=0.1, chaotic=True)]


@dataclass(frozen=True)
class Records:
    """Evaluations of runs. A diverged run has losses and norms of inf, and errors of 1."""

    run: Annotated[arrays.Int, arrays.Shape("runs")]  # number of each run
    # Steps done at each evaluation; the first is before the first step.
    step: Annotated[arrays.Int, arrays.Shape("times")]
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
