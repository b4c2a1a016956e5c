"""Inertia counts: how many of a Hessian's eigenvalues lie below a bound, in time linear in the depth.

docs/curvature.md derives them.

H of a linear network is a chain: a layer's change v_l acts on later layers only through the change F of the signal, a
width x width matrix. H - t I is eliminated layer by layer from the output to the input, leaving a symmetric matrix over
F (eq. 6); by Sylvester's law the pivots' signs give the number of eigenvalues below t. A pivot that is small relative
to its couplings is delayed to the next layer (eq. 9), so that entries do not grow and no digits are lost.

The compiled kernel is counts.c; :func:`eliminate_chain` is its reference implementation. No torch is loaded here, so
that asking for the kernel is cheap.
"""

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resaudit.paper import NOT_BUILT, kernel
from residual.demystifying_resnet.networks.network import Network

THRESHOLD = 1e-4
"""Least pivot relative to its largest coupling (eq. 9)."""
MOST_DELAYED = 600
"""Most delayed pivots at a width of 10 (scaled by its square); with more the count is given up."""
_reused = threading.local()


class CountWork(ctypes.Structure):
    """Arguments and results of a count; the layout is that in counts.c."""

    _fields_ = (
        ("depth", ctypes.c_int32),
        ("width", ctypes.c_int32),
        ("unit_depth", ctypes.c_int32),
        ("has_shortcuts", ctypes.c_int32),
        ("weights", ctypes.c_void_p),
        ("before", ctypes.c_void_p),
        ("slopes", ctypes.c_void_p),
        ("second", ctypes.c_void_p),
        ("threshold", ctypes.c_double),
        ("most_delayed", ctypes.c_int32),
        ("shifts", ctypes.c_int32),
        ("shift", ctypes.c_void_p),
        ("negative", ctypes.c_void_p),
        ("delayed", ctypes.c_void_p),
        ("log_determinant", ctypes.c_void_p),
        ("largest", ctypes.c_void_p),
        ("memory", ctypes.c_void_p),
    )


library, lanes = kernel(Path(__file__).parent, "counts", "counts", 64)


@dataclass(frozen=True)
class Chain:
    """The factors of a linear network's Hessian at one point, each of shape (depth, width, width), float64."""

    network: Network  # shape and shortcuts
    weights: np.ndarray  # W_l
    before: np.ndarray  # B_l, the matrix from the network's input to layer l's input
    slopes: np.ndarray  # Lambda_l, the derivative of the loss by layer l's output map
    second: np.ndarray  # S_XX, shape (width, width)


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
    loaded.resaudit_count_memory.restype = ctypes.c_int64
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


class TooManyDelayed(ArithmeticError):
    """Too many pivots were delayed; the count is given up."""


@dataclass
class Tally:
    """Running totals of an elimination; see :class:`residual.demystifying_resnet.curvature.counts.Counts`."""

    negative: int = 0
    delayed: int = 0
    log_determinant: float = 0.0
    largest: float = 0.0

    def take(self, pivot: np.ndarray) -> None:
        """Add a pivot of one or two rows."""
        sign, size = np.linalg.slogdet(pivot)
        self.negative += int(np.sum(np.linalg.eigvalsh(pivot) < 0)) if sign else 0
        self.log_determinant += float(size)


def eliminate_chain(chain: Chain, shift: float, threshold: float, most_delayed: int) -> Tally:
    """Eliminate H - shift I from the last layer to the first, with at most ``most_delayed`` delayed pivots."""
    network, eye, tally = chain.network, np.eye(chain.network.width), Tally()
    square = network.width**2
    rest, delayed = np.kron(chain.second.T, eye), 0
    for layer in reversed(range(network.depth)):
        boundary = 0 if layer == 0 else (1 if layer % network.unit_depth == 0 else 2)
        front = _front(chain, layer, rest, delayed, boundary)
        controls = slice(delayed, delayed + square)
        front[controls, controls] -= shift * np.eye(square)
        rest, delayed = _eliminate(front, delayed + square, threshold, tally)
        tally.delayed = max(tally.delayed, delayed)
        if delayed > (most_delayed if layer else 0):
            raise TooManyDelayed(f"{delayed} pivots put off at layer {layer}")
    return tally


def _front(chain: Chain, layer: int, rest: np.ndarray, delayed: int, boundary: int) -> np.ndarray:
    """The symmetric matrix over delayed pivots, v, and the state before the layer (eq. 7)."""
    width = chain.network.width
    square, inner = width**2, len(rest) - delayed
    weight, eye = chain.weights[layer], np.eye(width)
    if chain.network.has_shortcuts and chain.network.unit_depth == 1:
        weight = weight + eye
    change = _change(weight, chain.before[layer], boundary, inner // square)
    every = np.block([
        [np.eye(delayed), np.zeros((delayed, change.shape[1]))],
        [np.zeros((inner, delayed)), change],
    ])  # fmt: skip
    front = np.asarray(every.T @ rest @ every)
    if boundary:
        # <Lambda, v h>: v_(i, c) with h_(c, j), both numbered column by column.
        coupled = np.einsum("ij,ce->cije", chain.slopes[layer], eye).reshape(square, square)
        controls = slice(delayed, delayed + square)
        hidden = slice(delayed + square * boundary, delayed + square * (boundary + 1))
        front[controls, hidden] += coupled
        front[hidden, controls] += coupled.T
    return front


def _change(weight: np.ndarray, before: np.ndarray, boundary: int, behind: int) -> np.ndarray:
    """X = change (v, boundary) of eq. 4: X is F', or (s, h') within a unit; the boundary none, s, or (s, h)."""
    width = len(weight)
    eye, whole = np.eye(width), np.eye(width**2)
    nothing = np.zeros_like(whole)
    control, onward = np.kron(before.T, eye), np.kron(eye, weight)
    if behind == 1:
        rows = [[control, onward, nothing], [control, whole, onward]][boundary == 2]
        return np.block([rows[: 1 + boundary]])
    rows = [nothing, whole, nothing]
    hidden = [control, onward, nothing] if boundary < 2 else [control, nothing, onward]
    return np.block([rows[: 1 + boundary], hidden[: 1 + boundary]])


def _eliminate(front: np.ndarray, candidates: int, threshold: float, tally: Tally) -> tuple[np.ndarray, int]:
    """Take all candidates that pass eq. 9 as pivots; return the remaining matrix and the number of delayed pivots."""
    tally.largest = max(tally.largest, float(np.abs(front).max()))
    left = np.ones(len(front), dtype=bool)
    progress = True
    while progress:
        progress = False
        for column in range(candidates):
            chosen = _pivot(front, column, candidates, left, threshold) if left[column] else None
            if chosen is None:
                continue
            progress = True
            left[chosen] = False
            block, rows = front[np.ix_(chosen, chosen)], front[np.ix_(left, chosen)]
            tally.take(block)
            if np.any(block):
                front[np.ix_(left, left)] -= rows @ np.linalg.solve(block, rows.T)
    return front[np.ix_(left, left)], int(left[:candidates].sum())


def _pivot(front: np.ndarray, column: int, candidates: int, left: np.ndarray, threshold: float) -> np.ndarray | None:
    """The first of three pivots that passes eq. 9: the diagonal entry, its partner's, or both as a 2 x 2 pivot."""
    others = np.flatnonzero(left[:candidates])
    others = others[others != column]
    orders = [np.array([column])]
    if len(others):
        partner = others[np.argmax(np.abs(front[others, column]))]
        if front[partner, column]:
            orders += [np.array([partner]), np.array([column, partner])]
    for chosen in orders:
        outside = left.copy()
        outside[chosen] = False
        coupled = np.abs(front[np.ix_(outside, chosen)]).max(axis=0, initial=0.0)
        block = front[np.ix_(chosen, chosen)]
        if not np.any(block):
            if not np.any(coupled):
                return chosen
            continue
        if np.linalg.det(block) != 0 and np.all(np.abs(np.linalg.inv(block)) @ coupled * threshold <= 1):
            return chosen
    return None
