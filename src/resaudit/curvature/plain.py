"""The plain twin of kernels/counts.c: the same elimination, written to be read. Needs NumPy only."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


class TooManyDelayed(ArithmeticError):
    """So many pivots had to be put off that the count is given up."""


@dataclass
class Tally:
    """What an elimination has found so far; see :class:`resaudit.curvature.counts.Counts`."""

    negative: int = 0
    delayed: int = 0
    log_determinant: float = 0.0
    largest: float = 0.0

    def take(self, pivot: np.ndarray) -> None:
        """Book a pivot of one or two rows."""
        sign, size = np.linalg.slogdet(pivot)
        self.negative += int(np.sum(np.linalg.eigvalsh(pivot) < 0)) if sign else 0
        self.log_determinant += float(size)


def eliminate_chain(
    weights: np.ndarray,
    before: np.ndarray,
    slopes: np.ndarray,
    second: np.ndarray,
    unit_depth: int,
    has_shortcuts: bool,
    shift: float,
    threshold: float,
    most_delayed: int,
) -> Tally:
    """Eliminate H - shift I from the last layer to the first.

    Args:
        weights, before, slopes: W_l, B_l, Lambda_l, each (depth, width, width).
        second: S_XX (width, width).
        unit_depth: layers in a unit, 1 for a plain network.
        has_shortcuts: whether units add their input.
        shift: t.
        threshold: least pivot as a share of what it is coupled to.
        most_delayed: pivots that may be put off at once.

    Raises:
        TooManyDelayed: more had to be.
    """
    depth, width, _ = weights.shape
    square = width**2
    eye, tally = np.eye(width), Tally()
    rest, delayed = np.kron(second.T, eye), 0
    for layer in reversed(range(depth)):
        first = layer % unit_depth == 0
        boundary = 0 if layer == 0 else (1 if first else 2)
        inner = rest.shape[0] - delayed
        joined = weights[layer] + eye if has_shortcuts and unit_depth == 1 else weights[layer]
        change = _change(joined, before[layer], boundary, inner // square)
        every = np.block([
            [np.eye(delayed), np.zeros((delayed, change.shape[1]))],
            [np.zeros((inner, delayed)), change],
        ])  # fmt: skip
        front = every.T @ rest @ every
        controls = slice(delayed, delayed + square)
        front[controls, controls] -= shift * np.eye(square)
        if boundary:
            # <Lambda, v h>: v_(i, c) with h_(c, j), both numbered column by column.
            coupled = np.einsum("ij,ce->cije", slopes[layer], eye).reshape(square, square)
            hidden = slice(delayed + square * boundary, delayed + square * (boundary + 1))
            front[controls, hidden] += coupled
            front[hidden, controls] += coupled.T
        rest, delayed = _eliminate(front, delayed + square, threshold, tally)
        tally.delayed = max(tally.delayed, delayed)
        if delayed > (most_delayed if layer else 0):
            raise TooManyDelayed(f"{delayed} pivots put off at layer {layer}")
    return tally


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
    """Take all pivots among the first candidates that pass eq. 9; returns what is left, and how many were put off."""
    tally.largest = max(tally.largest, float(np.abs(front).max()))
    open_ = list(range(candidates))
    left = np.ones(len(front), dtype=bool)
    progress = True
    while open_ and progress:
        progress = False
        for column in list(open_):
            chosen = _pivot(front, column, open_, left, threshold) if left[column] else None
            if chosen is None:
                continue
            progress = True
            left[chosen] = False
            open_ = [c for c in open_ if left[c]]
            block = front[np.ix_(chosen, chosen)]
            tally.take(block)
            rows = front[np.ix_(left, chosen)]
            if np.any(block):
                front[np.ix_(left, left)] -= rows @ np.linalg.solve(block, rows.T)
            tally.largest = max(tally.largest, float(np.abs(rows).max(initial=0.0)))
    return front[np.ix_(left, left)], len(open_)


def _pivot(
    front: np.ndarray, column: int, open_: list[int], left: np.ndarray, threshold: float
) -> list[int] | None:
    """The first of the pivots tried that passes: the diagonal entry, the partner's, or both as one of two rows."""
    others = [c for c in open_ if c != column]
    for chosen in _tried(front, column, others):
        outside = left.copy()
        outside[chosen] = False
        coupled = np.abs(front[np.ix_(outside, chosen)]).max(axis=0, initial=0.0)
        block = front[np.ix_(chosen, chosen)]
        if not np.any(block):
            if not np.any(coupled):
                return chosen
            continue
        if np.linalg.det(block) == 0:
            continue
        if np.all(np.abs(np.linalg.inv(block)) @ coupled * threshold <= 1):
            return chosen
    return None


def _tried(front: np.ndarray, column: int, others: list[int]) -> Iterator[list[int]]:
    yield [column]
    if others:
        partner = others[int(np.argmax(np.abs(front[others, column])))]
        if front[partner, column]:
            yield [partner]
            yield [column, partner]
