"""The reference implementation of kernels/counts.c: the same elimination, written for readability."""

from dataclasses import dataclass

import numpy as np

from residual.demystifying_resnet.curvature.chain import Chain


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
