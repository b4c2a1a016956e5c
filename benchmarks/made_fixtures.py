"""Fixtures of tests/conftest.py on made data, for machines that have neither Hydra nor MNIST (a pytest plugin)."""

import numpy as np
import pytest

from resaudit.data.whitening import Whitened


@pytest.fixture(scope="session")
def whitened() -> Whitened:
    """Normal samples of MNIST's size after whitening; kernels and their twins do not care."""
    rng = np.random.default_rng(1)
    return Whitened(rng.standard_normal((10, 60_000)), rng.integers(0, 10, 60_000).astype(np.uint8), np.full(10, 0.1))
