"""Cases of Theorem 3.2 computed: points, network, run, and what came out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
import torch

from residual.identity_matters.relu.measured import GIVEN, IMAGES, SINGLE, Case, Expressed
from residual.identity_matters.relu.network import Network, Passage, count_parameters, output_bound, run
from residual.identity_matters.relu.points import (
    distinct,
    least_distances,
    on_sphere,
    project,
    random_labels,
    random_points,
    surrogates,
)

Known = dict[tuple[str | int, ...], float]
"""Least squared distances of points that several cases have."""


@dataclass(frozen=True)
class LabelledImages:
    """A data set.

    Attributes:
        pixels: shape (n, d), unsigned bytes.
        labels: shape (n,), from 0 to classes - 1.
        classes: r.
    """

    pixels: np.ndarray
    labels: np.ndarray
    classes: int


def express(
    images: LabelledImages,
    cases: tuple[Case, ...],
    nested: tuple[int, ...],
    seed: int,
    progress: Callable[[tuple[Case, ...]], Iterable[Case]] = iter,
) -> Expressed:
    """Build and run the networks of every case, and measure rho of nested subsets of the images.

    Args:
        images: of which exact duplicates after normalization are left out, since a network is a function.
        cases: in order.
        nested: numbers of images; each is at most all.
        seed: of projections, surrogate labels, random points and labels.
        progress: wraps the cases.
    """
    kept = distinct(images.pixels)
    images = replace(images, pixels=images.pixels[kept], labels=images.labels[kept])
    rows, traces = [], []
    sizes = tuple(min(n, len(kept)) for n in nested)
    rhos = least_distances(on_sphere(images.pixels[: max(sizes)]), sizes) if sizes else np.empty(0)
    known: Known = {(IMAGES, n): float(rho) for n, rho in zip(sizes, rhos, strict=True)}
    for index, case in enumerate(progress(cases)):
        for labels, row, trace in _of_case(images, case, seed, known):
            rows.append((index, labels, *row))
            traces.append(_columns(index, labels, trace))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    columns += [np.concatenate(column) for column in zip(*traces, strict=True)]
    names = [field.name for field in fields(Expressed)]
    return Expressed(**dict(zip(names, [*columns, np.array(sizes), rhos], strict=True)))


def points_of(images: LabelledImages, case: Case, seed: int, known: Known) -> tuple[np.ndarray, np.ndarray, float]:
    """h_0 of a case's points, shape (n, k), their given labels, and the least squared distance before A_0.

    With ``normalized``, the projected points are the data, and rho is theirs. It is added to ``known``.
    """
    n, labels = case.samples, images.labels[: case.samples].astype(np.int64)
    d = images.pixels.shape[1]
    points = on_sphere(images.pixels[:n]) if case.points == IMAGES else random_points(n, d, seed)
    hidden = project(points, case.width, case.projection, seed)
    hidden = on_sphere(hidden) if case.normalized else hidden
    key: tuple[str | int, ...] = (case.points, len(points))
    key += (case.width, case.projection) if case.normalized else ()
    if key not in known:
        known[key] = float(least_distances(hidden if case.normalized else points, (len(points),))[0])
    return hidden, labels, known[key]


def network_of(hidden: np.ndarray, rho: float, case: Case, classes: int, seed: int) -> Network:
    """The network that moves these points, with bias -(1 - 2 rho')."""
    dtype = torch.float32 if case.precision == SINGLE else torch.float64
    moved, q = (torch.from_numpy(each).to(dtype) for each in (hidden, surrogates(classes, case.width, seed)))
    return Network(moved, q, 1 - 2 * case.share * rho)


def _of_case(
    images: LabelledImages, case: Case, seed: int, known: Known
) -> Iterator[tuple[str, tuple[float, ...], Passage]]:
    hidden, given, rho = points_of(images, case, seed, known)
    network = network_of(hidden, rho, case, images.classes, seed)
    n, inputs = len(hidden), images.pixels.shape[1]
    parameters = count_parameters(n, inputs, case.width, images.classes)
    tolerance = output_bound(network)
    labellings = [given if name == GIVEN else random_labels(n, images.classes, seed) for name in case.labels]
    each = [torch.from_numpy(labels) for labels in labellings]
    for name, labels, found in zip(case.labels, each, run(network, each), strict=True):
        yield name, (n, rho, parameters, *_judged(found.outputs, labels), tolerance), found


def _judged(outputs: torch.Tensor, labels: torch.Tensor) -> tuple[int, float]:
    """The number of points whose label is not the only largest output, and the largest error of a coordinate."""
    asked = torch.nn.functional.one_hot(labels, outputs.shape[1]).to(outputs.dtype)
    own = (outputs * asked).sum(dim=1)
    others = outputs.where(asked == 0, -torch.inf).amax(dim=1)
    error = (outputs - asked).abs().nan_to_num(torch.inf, torch.inf).max()
    return int((~(own > others)).sum()), float(error)


def _columns(index: int, labels: str, trace: Passage) -> tuple[np.ndarray, ...]:
    layers = np.arange(len(trace.remaining))
    same = (np.full(len(layers), index), np.full(len(layers), labels))
    return (*same, layers, trace.remaining, trace.moved_error, trace.disturbance)
