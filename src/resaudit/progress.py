"""Progress of long loops: a bar on a terminal, a plain line now and then in a log."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Protocol, TypeVar

from tqdm import tqdm

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
SECONDS_BETWEEN_LINES = 10.0


class SizedIterable(Sized, Iterable[T_co], Protocol[T_co]):
    """What progress can be told of: something to go through whose length is known."""


def with_progress(items: SizedIterable[T], what: str) -> Iterator[T]:
    """Go through ``items`` and tell standard error how far it has come."""
    if sys.stderr.isatty():
        yield from tqdm(items, desc=what, leave=False)
        return
    start = last = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last > SECONDS_BETWEEN_LINES:
            last = now
            print(f"{what}: {done} of {len(items)} after {now - start:.0f} s", file=sys.stderr, flush=True)
        yield item
    print(f"{what}: {len(items)} of {len(items)} after {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
