"""Inertia counts: how many of a Hessian's eigenvalues lie below a bound, in time linear in the depth.

docs/curvature.md derives them.

H of a linear network is a chain: a layer's change v_l acts on later layers only through the change F of the signal, a
width x width matrix. H - t I is eliminated layer by layer from the output to the input, leaving a symmetric matrix over
F (eq. 6); by Sylvester's law the pivots' signs give the number of eigenvalues below t. A pivot that is small relative
to its couplings is delayed to the next layer (eq. 9), so that entries do not grow and no digits are lost.
"""

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resaudit.paper import NOT_BUILT
from residual.demystifying_resnet.curvature.chain import Chain
from residual.demystifying_resnet.curvature.kernels.library import CountWork, lanes, library
from residual.demystifying_resnet.curvature.plain import TooManyDelayed, eliminate_chain

THRESHOLD = 1e-4
"""Least pivot relative to its largest coupling (eq. 9)."""
MOST_DELAYED = 600
"""Most delayed pivots at a width of 10 (scaled by its square); with more the count is given up."""
_reused = threading.local()


@dataclass(frozen=True)
class Counts:
    """The result of eliminating H - t I, for each t."""

    below: np.ndarray  # number of eigenvalues below t; -1 if the count was given up
    log_determinant: np.ndarray  # log |det(H - t I)|
    delayed: np.ndarray  # largest number of pivots delayed at once
    largest: np.ndarray  # largest absolute entry on the way; eps times it estimates the rounding error in H


def counted_by() -> str:
    """The method that counts on this machine, in words."""
    if wide := lanes():
        return f"compiled counts, vectors of {wide} doubles"
    return f"LAPACK up to 3200 parameters and counts in NumPy above, since {NOT_BUILT}"


def count_below(
    chain: Chain, bounds: Sequence[float], threshold: float = THRESHOLD, compiled: bool | None = None
) -> Counts:
    """Count the eigenvalues of H below each of the bounds.

    Args:
        chain: the Hessian.
        bounds: finite numbers t.
        threshold: least pivot relative to its couplings, at most 0.3 (eq. 9).
        compiled: use the compiled kernel or its reference implementation; None: the kernel if it exists.
    """
    shifts = np.ascontiguousarray(bounds, dtype=np.float64)
    if not np.isfinite(shifts).all():
        raise ValueError("eigenvalues are counted below finite bounds only")
    if not 0 < threshold <= 0.3:
        raise ValueError(f"the threshold of a pivot must lie in (0, 0.3], not at {threshold}")
    if compiled is None:
        compiled = library() is not None
    return _count_compiled(chain, shifts, threshold) if compiled else _count_plainly(chain, shifts, threshold)


def _most_delayed(chain: Chain) -> int:
    return MOST_DELAYED * chain.network.width**2 // 100


def _count_compiled(chain: Chain, shifts: np.ndarray, threshold: float) -> Counts:
    loaded, wide = library(), lanes()
    if loaded is None or wide is None:
        raise ValueError(NOT_BUILT)
    below, delayed = np.zeros((2, len(shifts)), dtype=np.int64)
    log_determinant, largest = np.zeros((2, len(shifts)))
    network = chain.network
    doubles = loaded.resaudit_count_memory(network.width, _most_delayed(chain))
    # Working memory of this thread, reused: fresh pages cost as much as a count of 16 layers.
    memory: np.ndarray = getattr(_reused, "memory", np.zeros(0))
    if len(memory) < doubles:
        memory = _reused.memory = np.zeros(doubles)
    arrays = chain.weights, chain.before, chain.slopes, chain.second
    results = shifts, below, delayed, log_determinant, largest, memory
    work = CountWork(
        network.depth, network.width, network.unit_depth, network.has_shortcuts,
        *(array.ctypes.data for array in arrays),
        threshold, _most_delayed(chain), len(shifts),
        *(array.ctypes.data for array in results),
    )  # fmt: skip
    loaded.resaudit_count(ctypes.byref(work), wide)
    return Counts(below, log_determinant, delayed, largest)


def _count_plainly(chain: Chain, shifts: np.ndarray, threshold: float) -> Counts:
    rows = []
    for shift in shifts:
        try:
            tally = eliminate_chain(chain, float(shift), threshold, _most_delayed(chain))
            rows.append((tally.negative, tally.log_determinant, tally.delayed, tally.largest))
        except TooManyDelayed:
            rows.append((-1, np.nan, _most_delayed(chain), np.inf))
    below, log_determinant, delayed, largest = (np.array(column) for column in zip(*rows, strict=True))
    return Counts(below, log_determinant, delayed, largest)
