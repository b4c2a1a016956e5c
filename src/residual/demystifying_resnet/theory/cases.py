"""The sizes and draws at which a theorem is checked. Imports nothing heavy, so that the plan can."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Cases:
    """Sizes and draws; unused fields stay empty."""

    seed: int  # draw i draws from (seed, i)
    draws: int  # random draws of each size
    shortcut_depths: tuple[int, ...] = ()  # n of the networks
    activations: tuple[tuple[str, str, str], ...] = ()  # (pre, mid, post) of the networks
    widths: tuple[int, ...] = ()  # d
    units: tuple[int, ...] = ()  # R, residual units
    depths: tuple[int, ...] = ()  # numbers of weight matrices at which condition numbers are taken
    steps: tuple[int, ...] = ()  # units for each column of X
    samples_per_class: tuple[int, ...] = ()  # samples of each of the d classes
    min_distance: float = 0.0  # between any two points on the sphere
    label_noise: float = 0.0  # length of the noise that makes equal labels distinct
