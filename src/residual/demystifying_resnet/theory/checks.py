"""The theorems of Demystifying ResNet, checked at every size and draw of ``Cases``."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from resaudit.paper import Moments, Whitened
from residual.demystifying_resnet.networks.hessians import hessians
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.theory.at_zero import (
    EPS,
    measure_condition,
    measure_one_shortcut,
    measure_stationarity,
    measure_two_shortcut,
    zero_weights,
)
from residual.demystifying_resnet.theory.construction import longest_detour, measure_construction
from residual.demystifying_resnet.theory.records import (
    Case,
    Cases,
    Finding,
    Measurements,
    Samples,
    SpherePath,
    ZeroHessians,
    as_columns,
    random_samples,
    real_samples,
    samples_on_sphere,
)

Rows = Iterator[tuple[Case, Finding]]
Loop = Callable[[list[int]], Iterable[int]]
"""Wraps the draws, to show progress."""


@dataclass(frozen=True)
class RealData:
    """Whitened data, its moments and its name."""

    name: str
    whitened: Whitened
    moments: Moments


def check_theorem_1(cases: Cases, real: RealData, loop: Loop = iter) -> Measurements:
    """Theorem 1 with Lemmas 1 and 2, on random and on real points on the sphere."""

    def rows() -> Rows:
        for draw, width, per_class in _product(loop, cases):
            for name in ("random", real.name):
                samples = _on_sphere(cases, real if name == real.name else None, draw, width, per_class)
                for steps in cases.steps:
                    network = Network(2, 2 * samples.count * steps, width, mid="relu")
                    case = _case(network, samples.count, name, draw)
                    yield from ((case, finding) for finding in measure_construction(samples, steps))

    return as_columns(list(rows()))


def check_theorem_2(cases: Cases, real: RealData, loop: Loop = iter) -> Measurements:
    """Theorem 2: derivatives at zero on random and on real samples; condition numbers also on all real data."""

    def rows() -> Rows:
        for draw, width, per_class in _product(loop, cases):
            for name in ("random", real.name):
                rng = _rng(cases, draw, width, per_class)
                if name == "random":
                    samples = random_samples(width, per_class, rng)
                else:
                    samples = real_samples(real.whitened, width, per_class, rng)
                yield from _at_zero(cases, samples, name, draw, rng)
                yield from _by_depth(cases, Moments.of(samples.inputs, samples.targets), samples.count, name, draw)
        yield from _by_depth(cases, real.moments, len(real.whitened.labels), real.name, 0)

    return as_columns(list(rows()))


def _at_zero(cases: Cases, samples: Samples, name: str, draw: int, rng: np.random.Generator) -> Rows:
    width = len(samples.inputs)
    # n = 1 last, as in the theorem.
    for n in sorted(cases.shortcut_depths, key=lambda n: (n == 1, n)):
        for activations, units in itertools.product(cases.activations, cases.units):
            network = Network(n, n * units, width, *activations)
            case = _case(network, samples.count, name, draw)
            findings = [*measure_stationarity(network, samples, rng)]
            if n == 1:
                findings += measure_one_shortcut(network, samples)
            if n == 2:
                findings += measure_two_shortcut(network, samples)
            yield from ((case, finding) for finding in findings)
        if n == 2:
            yield from _depth_invariance(cases, samples, name, draw)


def _depth_invariance(cases: Cases, samples: Samples, name: str, draw: int) -> Rows:
    """The 2-shortcut condition number at every number of units against that at the first."""
    width = len(samples.inputs)
    for activations in cases.activations:
        first: Finding | None = None
        for units in cases.units:
            network = Network(2, 2 * units, width, *activations)
            condition = next(f for f in measure_two_shortcut(network, samples) if f.property.startswith("eq. 9"))
            first = first or condition
            case = _case(network, samples.count, name, draw)
            error = abs(condition.value - first.value) / first.value
            yield case, Finding("the condition number does not change with the number of units", condition.value,
                                first.value, error, condition.tolerance + first.tolerance)  # fmt: skip


def _by_depth(cases: Cases, moments: Moments, samples: int, name: str, draw: int) -> Rows:
    """Condition numbers of linear 1- and 2-shortcut networks at every depth."""
    for n, depth in itertools.product((1, 2), cases.depths):
        if n in cases.shortcut_depths and depth % n == 0:
            network = Network(n, depth, len(moments.xx))
            case = _case(network, samples, name, draw)
            yield from ((case, finding) for finding in measure_condition(network, moments))


def find_detour(cases: Cases, real: RealData) -> SpherePath:
    """Figure 10: over all draws of real points on the sphere, the path that goes round most obstacles."""
    draws = [_on_sphere(cases, real, draw, cases.widths[0], cases.samples_per_class[0]) for draw in range(cases.draws)]
    return longest_detour(draws, cases.steps[0])


def zero_hessians(cases: Cases, moments: Moments) -> ZeroHessians:
    """Figure 11: Hessians at zero of linear networks on the moments of the data.

    Entries up to eps N times the largest one are left out, since rounding cannot distinguish them from zero.
    """
    parts = []
    for n, units in itertools.product(cases.shortcut_depths, cases.units):
        network = Network(n, n * units, len(moments.xx))
        hessian = hessians(zero_weights(network), network, moments)[0].numpy()
        row, column = np.nonzero(np.abs(hessian) > EPS * len(hessian) * np.abs(hessian).max())
        sizes = (np.full(len(row), size) for size in (n, units, network.width))
        parts.append((*sizes, row, column, hessian[row, column]))
    return ZeroHessians(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _case(network: Network, samples: int, data: str, draw: int) -> Case:
    return {
        "shortcut_depth": network.shortcut_depth, "activations": f"{network.pre}/{network.mid}/{network.post}",
        "width": network.width, "units": len(network.units), "samples": samples, "data": data, "draw": draw,
    }  # fmt: skip


def _product(loop: Loop, cases: Cases) -> Iterator[tuple[int, int, int]]:
    """Every draw, width and number of samples a class."""
    for draw in loop(list(range(cases.draws))):
        yield from itertools.product([draw], cases.widths, cases.samples_per_class)


def _on_sphere(cases: Cases, real: RealData | None, draw: int, width: int, per_class: int) -> Samples:
    return samples_on_sphere(
        real.whitened if real else None,
        width,
        per_class,
        cases.min_distance,
        cases.label_noise,
        _rng(cases, draw, width, per_class),
    )


def _rng(cases: Cases, *numbers: int) -> np.random.Generator:
    """One random stream per draw and size, so that more draws or sizes do not change the others."""
    return np.random.default_rng([cases.seed, *numbers])
