"""Fields with bounds, for the dataclasses of the configuration."""

from dataclasses import field
from typing import Any

from omegaconf import MISSING


def bounded(
    default: Any = MISSING, at_least: float | None = None, above: float | None = None, at_most: float | None = None
) -> Any:
    """A field whose numbers, alone or in a list, are at least, or above, a bound, and at most another.

    Every number of the configuration must be finite, whether it has bounds or not.
    """
    bounds = {"at_least": at_least, "above": above, "at_most": at_most}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=bounds)
    return field(default=default, metadata=bounds)
