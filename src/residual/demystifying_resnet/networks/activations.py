"""Each activation's value and slope at zero, which Theorem 2 of Demystifying ResNet needs. Imports nothing heavy."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class AtZero:
    """An activation's value and slope at zero."""

    value: float
    slope: float


ACTIVATIONS = {
    "identity": AtZero(0.0, 1.0),
    "tanh": AtZero(0.0, 1.0),
    "symmetric_sigmoid": AtZero(0.0, 0.5),
    "softplus": AtZero(math.log(2.0), 0.5),
    "shifted_softplus": AtZero(0.0, 0.5),
}
"""Smooth activations by name. Softplus minus log 2 is a smooth analogue of ReLU that is zero at zero."""
