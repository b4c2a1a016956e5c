"""Images that no scale brings to norm one."""

import numpy as np

from resaudit.base.errors import DataError


def refuse_black(images: np.ndarray, name: str) -> None:
    """Refuse images, shape (samples, …), of which one is all zero: where each gets norm 1, it would be NaN.

    Args:
        images: those that are scaled.
        name: the data set's.
    """
    if not images.reshape(len(images), -1).any(axis=1).all():
        raise DataError(f"{name} has a black image, which has no direction")
