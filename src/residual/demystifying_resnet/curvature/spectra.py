"""Statistics of spectra as arrays. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spectra:
    """Statistics of a batch of spectra, each of the batch's shape.

    Attributes:
        lambda_max: largest absolute eigenvalue.
        lambda_p10: 10th percentile of the absolute eigenvalues (Demystifying ResNet, Appendix B).
        condition_number: lambda_max / lambda_p10.
        index: share of eigenvalues below minus the noise floor, that is certainly negative.
        raw_index: share of eigenvalues below zero, including rounding errors.
        sizeable_index: share of eigenvalues below minus a hundredth of lambda_max.
        noise_floor: eps * N * lambda_max, the size of an eigensolver's rounding errors.
        resolved: whether lambda_p10, and so the condition number, lies above the noise floor.
    """

    lambda_max: np.ndarray
    lambda_p10: np.ndarray
    condition_number: np.ndarray
    index: np.ndarray
    raw_index: np.ndarray
    sizeable_index: np.ndarray
    noise_floor: np.ndarray
    resolved: np.ndarray
