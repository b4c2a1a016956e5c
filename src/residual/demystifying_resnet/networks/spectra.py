"""Statistics of spectra as arrays. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from resaudit.paper import arrays

Eigenvalue = Annotated[np.ndarray, arrays.Type("precision"), arrays.Shape("snapshots", "runs")]
Share = Annotated[arrays.Float, arrays.Shape("snapshots", "runs")]


@dataclass(frozen=True)
class Spectra:
    """Statistics of a batch of spectra, each of the batch's shape, a job's of (snapshots, runs)."""

    lambda_max: Eigenvalue  # largest absolute eigenvalue
    lambda_p10: Eigenvalue  # 10th percentile of the absolute eigenvalues (Demystifying ResNet, Appendix B)
    condition_number: Eigenvalue  # lambda_max / lambda_p10
    index: Share  # of eigenvalues below minus the noise floor, that is certainly negative
    raw_index: Share  # of eigenvalues below zero, including rounding errors
    sizeable_index: Share  # of eigenvalues below minus a hundredth of lambda_max
    noise_floor: Eigenvalue  # eps * N * lambda_max, the size of an eigensolver's rounding errors
    # Whether lambda_p10, and so the condition number, lies above the noise floor.
    resolved: Annotated[np.ndarray, arrays.Type("b1"), arrays.Shape("snapshots", "runs")]
