"""Cases of Theorem 3.2 computed: points, network, run, and what came out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import torch

from residual.identity_matters.relu.measured import GIVEN, IMAGES, SINGLE, Case, Expressed
from residual.identity_matters.relu.network import (
    Network,
    Passage,
    count_parameters,
    distinct,
    least_distances,
    on_sphere,
    output_bound,
    project,
    random_labels,
    random_points,
    run,
    surrogates,
)

Known = dict[tuple[str | int, ...], float]
"""Least squared distances of points that several cases share."""


class LabelledImages(NamedTuple):
    """A data set."""

    pixels: np.ndarray  # shape (n, d), unsigned bytes
    labels: np.ndarray  # shape (n,), from 0 to classes - 1
    classes: int  # r


def memorize(
    images: LabelledImages,
    cases: tuple[Case, ...],
    nested: tuple[int, ...],
    seed: int,
    progress: Callable[[tuple[Case, ...]], Iterable[Case]] = iter,
) -> Expressed:
    """Build and run the networks of every case, and measure rho of nested subsets of the images.

    Args:
        images: the data; exact duplicates after normalization are excluded, since a network is a function.
        cases: the networks, in order.
        nested: numbers of images; each is at most all.
        seed: the seed of projections, surrogate labels, random points and labels.
        progress: wraps the cases.
    """
    kept = distinct(images.pixels)
    images = LabelledImages(images.pixels[kept], images.labels[kept], images.classes)
    sizes = tuple(min(n, len(kept)) for n in nested)
    rhos = least_distances(on_sphere(images.pixels[: max(sizes)]), sizes) if sizes else np.empty(0)
    known: Known = {(IMAGES, n): float(rho) for n, rho in zip(sizes, rhos, strict=True)}
    rows, traces = [], []
    for index, case in enumerate(progress(cases)):
        for labels, row, trace in _passages(images, case, seed, known):
            rows.append((index, labels, *row))
            layers = np.arange(len(trace.remaining))
            same = (np.full(len(layers), index), np.full(len(layers), labels))
            traces.append((*same, layers, trace.remaining, trace.moved_error, trace.disturbance))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    columns += [np.concatenate(column) for column in zip(*traces, strict=True)]
    names = [field.name for field in fields(Expressed)]
    return Expressed(**dict(zip(names, [*columns, np.array(sizes), rhos], strict=True)))


def _passages(
    images: LabelledImages, case: Case, seed: int, known: Known
) -> Iterator[tuple[str, tuple[float, ...], Passage]]:
    """Each labelling's name, its row in the first table, and its trace; rho of new points is added to ``known``."""
    inputs, classes = images.pixels.shape[1], images.classes
    if case.points == IMAGES:
        points = on_sphere(images.pixels[: case.samples])
    else:
        points = random_points(case.samples, inputs, seed)
    n, start = len(points), project(points, case.width, case.projection, seed)
    key: tuple[str | int, ...] = (case.points, n)
    if case.normalized:  # the projected points are the data, and rho is theirs
        points = start = on_sphere(start)
        key += (case.width, case.projection)
    if key not in known:
        known[key] = float(least_distances(points, (n,))[0])
    rho = known[key]

    dtype = torch.float32 if case.precision == SINGLE else torch.float64
    moved, q = (torch.from_numpy(rows).to(dtype) for rows in (start, surrogates(classes, case.width, seed)))
    network = Network(moved, q, 1 - 2 * case.share * rho)
    parameters, tolerance = count_parameters(n, inputs, case.width, classes), output_bound(network)
    own = images.labels[: case.samples].astype(np.int64)
    labellings = [torch.from_numpy(own if name == GIVEN else random_labels(n, classes, seed)) for name in case.labels]
    for name, asked, passage in zip(case.labels, labellings, run(network, labellings), strict=True):
        yield name, (n, rho, parameters, *judged(passage.outputs, asked), tolerance), passage


def judged(outputs: torch.Tensor, labels: torch.Tensor) -> tuple[int, float]:
    """The number of points whose label is not the only largest output, and the largest error of a coordinate."""
    asked = torch.nn.functional.one_hot(labels, outputs.shape[1]).to(outputs.dtype)
    right = (outputs * asked).sum(dim=1)
    others = outputs.where(asked == 0, -torch.inf).amax(dim=1)
    error = (outputs - asked).abs().nan_to_num(torch.inf, torch.inf).max()
    return int((~(right > others)).sum()), float(error)
