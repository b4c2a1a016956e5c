"""Progress of long loops: a bar on a terminal, a plain line now and then in a log, which may lie on a full disk."""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Protocol, TextIO, TypeVar

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
            say(f"{what}: {done} of {len(items)} after {now - start:.0f} s")
        yield item
    say(f"{what}: {len(items)} of {len(items)} after {time.monotonic() - start:.1f} s")


def say(line: str, else_to: TextIO | None = None) -> None:
    """Tell standard error. Where it cannot be written to the work goes on: it is worth more than words on it.

    Args:
        line: what to say.
        else_to: where to say it then, if it must not be lost.
    """
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        if else_to:
            print(line, file=else_to, flush=True)


def leave_unsaid() -> None:
    """Forget what standard error could not take, which would otherwise spoil the exit status."""
    try:
        sys.stderr.flush()
    except OSError:
        sys.stderr = None
