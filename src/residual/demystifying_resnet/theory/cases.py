"""The sizes and draws at which a theorem is checked. Imports nothing heavy, so that the plan can."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cases:
    """Sizes and draws; unused fields stay empty.

    Attributes:
        seed: draw i draws from (seed, i).
        draws: random draws of each size.
        shortcut_depths: n of the networks.
        activations: (pre, mid, post) of the networks.
        widths: d.
        units: R, residual units.
        depths: numbers of weight matrices at which condition numbers are taken.
        steps: units for each column of X.
        samples_per_class: samples of each of the d classes.
        min_distance: between any two points on the sphere.
        label_noise: length of the noise that makes equal labels distinct.
    """

    seed: int
    draws: int
    shortcut_depths: tuple[int, ...] = ()
    activations: tuple[tuple[str, str, str], ...] = ()
    widths: tuple[int, ...] = ()
    units: tuple[int, ...] = ()
    depths: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    samples_per_class: tuple[int, ...] = ()
    min_distance: float = 0.0
    label_noise: float = 0.0
