"""A long job's state on disk, so that it can be left at any time and gone on with to the same bits.

A checkpoint is one file, replaced whole: the SHA-256 of the rest, a line of JSON that says whose it is, and arrays.
"""

import hashlib
import io
import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from types import FrameType
from typing import Any, Generic, TypeVar

import numpy as np

from resaudit.errors import Interrupted, ResauditError
from resaudit.runtime.progress import say
from resaudit.store.files import written_whole

State = TypeVar("State")
CHECKPOINT = "checkpoint"


class Checkpoint(Generic[State]):
    """The checkpoint of one job: at most one file, no larger than the state, gone when the job is done.

    Args:
        folder: of the job; made when there is something to keep.
        kind: dataclass of arrays that the state is.
        made_by: all that must be the same for a state to be gone on with, as JSON: settings, code, device, versions.
        seconds: to work between one checkpoint and the next.
    """

    def __init__(self, folder: Path, kind: type[State], made_by: Mapping[str, Any], seconds: float) -> None:
        self._path, self._kind, self._seconds = folder / CHECKPOINT, kind, seconds
        self._made_by: dict[str, Any] = json.loads(json.dumps(made_by))
        self._start = self._last = time.monotonic()
        self._before = 0.0

    @property
    def seconds_before(self) -> float:
        """Seconds that were spent on the state gone on from, in runs before this one."""
        return self._before

    def read(self) -> State | None:
        """The state to go on from; None where there is none, or none that can be trusted, which is said."""
        try:
            written, rest = self._path.read_bytes().split(b"\n", 1)
            if hashlib.sha256(rest).hexdigest().encode() != written:
                raise ValueError("its bytes are not those that were written")
            header, content = rest.split(b"\n", 1)
            self._before = self._seconds_of_own(json.loads(header))
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                state = self._kind(**{f.name: arrays[f.name] for f in fields(self._kind)})  # type: ignore[arg-type]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, EOFError) as error:
            _say(f"{self._path} is not gone on from: {error}; starting afresh")
            return None
        _say(f"goes on from {self._path}, {self._before:.0f} s into the work")
        return state

    def _seconds_of_own(self, header: Mapping[str, Any]) -> float:
        differing = [key for key, value in self._made_by.items() if header["made by"].get(key) != value]
        if differing:
            raise ValueError(f"it is of {', '.join(f'another {key}' for key in differing)}")
        return float(header["seconds"])

    def write(self, state: State) -> None:
        """Replace the checkpoint.

        Raises:
            ResauditError: the folder cannot be written to, or the disk is full; the checkpoint before stays.
        """
        content = io.BytesIO()
        seconds = round(self._before + time.monotonic() - self._start, 2)
        content.write(json.dumps({"made by": self._made_by, "seconds": seconds}).encode() + b"\n")
        arrays = {f.name: getattr(state, f.name) for f in fields(self._kind)}  # type: ignore[arg-type]
        np.savez(content, allow_pickle=False, **arrays)
        with written_whole(self._path) as temporary, temporary.open("wb") as file:
            file.write(hashlib.sha256(content.getbuffer()).hexdigest().encode() + b"\n")
            file.write(content.getbuffer())

    def keep(self, state: Callable[[], State], signalled: int | None = None) -> None:
        """Write a checkpoint if the last one is long enough ago, or the process is to stop.

        Args:
            state: gives the state; called only if it is written.
            signalled: the signal that asks the process to stop, if one has come.

        Raises:
            Interrupted: a signal has come; the state is safe.
        """
        if signalled is not None:
            self.write(state())
            raise Interrupted(signalled, f"what was done is kept in {self._path}; the next run goes on from there")
        if time.monotonic() - self._last >= self._seconds:
            try:
                self.write(state())
            except ResauditError as error:
                # The work so far is worth more than the means to go on from it.
                _say(f"no checkpoint: {error}")
            self._last = time.monotonic()


def forget(folder: Path) -> None:
    """Remove the checkpoint of a job that is done."""
    (folder / CHECKPOINT).unlink(missing_ok=True)
    # The folder stays if it is not empty: a job whose Snakemake was killed may still be at work on the same.
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def delayed_signals() -> Iterator[Callable[[], int | None]]:
    """Let SIGTERM and SIGINT wait until the work looks for them.

    Yields:
        A function that gives the signal that has come, or None.
    """
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield lambda: came[0] if came else None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(line: str) -> None:
    say(f"resaudit: {line}")
