"""The epochs of a training that have snapshots, and those that a large reference keeps."""

from collections.abc import Collection, Sequence

EPOCHS_IN_LARGE_REFERENCE = 60
NO_EPOCH = -1
"""Of rows that are of no epoch."""


def snapshot_epochs(epochs: int, count: int | None) -> tuple[int, ...]:
    """``count`` of the epochs 0 … ``epochs``, with both ends, as evenly as possible on a logarithmic scale.

    >>> snapshot_epochs(1000, 8)
    (0, 1, 3, 10, 32, 101, 318, 1000)
    >>> snapshot_epochs(3, None)
    (0, 1, 2, 3)
    """
    if count is None or count > epochs:
        return tuple(range(epochs + 1))
    chosen = [0]
    for left in range(count - 1, 1, -1):
        last = chosen[-1]
        # While even steps are shorter than one epoch, take every epoch and spread the rest again.
        chosen.append(max(last + 1, round(last * (epochs / last) ** (1 / left)) if last else 1))
    return (*chosen, epochs)


def recorded_epochs(planned: Sequence[int], present: Collection[int]) -> Sequence[int]:
    """Those of the planned epochs that a table must have, by the epochs that it has.

    A table that has no others than a large reference keeps, ``snapshot_epochs(last, 60)``, is taken for one.

    >>> recorded_epochs(range(1001), range(1001)) == range(1001)
    True
    >>> recorded_epochs(range(1001), snapshot_epochs(1000, 60)) == list(snapshot_epochs(1000, 60))
    True
    """
    kept = {NO_EPOCH, *snapshot_epochs(int(max(present, default=0)), EPOCHS_IN_LARGE_REFERENCE)}
    return [epoch for epoch in planned if epoch in kept] if kept.issuperset(present) else planned
