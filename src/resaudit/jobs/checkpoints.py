"""Checkpoints: stop a long job at any point and resume it bit for bit.

A checkpoint is one file, replaced atomically: the SHA-256 of the rest, a JSON line (settings, code, platform), arrays.
"""

import hashlib
import io
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np

from resaudit.base.errors import Interrupted, ResauditError
from resaudit.base.files import written_whole
from resaudit.jobs.job import Job, Work
from resaudit.runtime.progress import log

State = TypeVar("State")
CHECKPOINT = "checkpoint"


def made_by(job: Job, work: Work, more: Mapping[str, Any], anywhere: bool = False) -> dict[str, Any]:
    """All that the bits of a training depend on: settings, the kind's code, what the job adds, platform with torch."""
    platform = {} if anywhere else work.platform
    return {"settings": job.identity, "code version": work.code, **more, **platform}


class Checkpoint(Generic[State]):
    """The checkpoint of one job: one file, no larger than the state, removed when the job is done.

    Args:
        folder: the job's folder; created by the first write.
        kind: the state's dataclass of arrays.
        made_by: JSON that must be equal to resume: settings, code, platform.
        seconds: time of work between two checkpoints.

    Attributes:
        parts: of work that may go on on another machine: what computed each part, and where the part began.
    """

    def __init__(self, folder: Path, kind: type[State], made_by: Mapping[str, Any], seconds: float) -> None:
        self._path, self._kind, self._seconds = folder / CHECKPOINT, kind, seconds
        self._made_by: dict[str, Any] = json.loads(json.dumps(made_by))
        self._start = self._last = time.monotonic()
        self._before = 0.0
        self.parts: list[dict[str, Any]] = []

    @classmethod
    def of(
        cls,
        job: Job,
        work: Work,
        kind: type[State],
        more: Mapping[str, Any] | None = None,
        part: str = "",
        anywhere: bool = False,
    ) -> Self:
        """The checkpoint of a running job.

        Args:
            job: the job.
            work: its context.
            kind: the state's dataclass of arrays.
            more: what the bits of the state depend on besides settings, code and platform.
            part: a part of the job that has a checkpoint of its own.
            anywhere: whether another platform may go on.
        """
        made = made_by(job, work, more or {}, anywhere)
        return cls(work.checkpoints / part, kind, made, work.execution.checkpoint_seconds)

    @property
    def seconds_before(self) -> float:
        """Seconds that earlier runs spent on the state resumed from."""
        return self._before

    def note(self, record: dict[str, Any], unit: str, number: int) -> None:
        """Write into a job's record from which unit it resumed, and what the work before took."""
        record[f"resumed from {unit}"] = number
        record["seconds before"] = self._before

    def read(self) -> State | None:
        """The state to resume from; None if there is no checkpoint or it does not match (which the log then says)."""
        try:
            written, rest = self._path.read_bytes().split(b"\n", 1)
            if hashlib.sha256(rest).hexdigest().encode() != written:
                raise ValueError("its bytes are not those that were written")
            header, content = rest.split(b"\n", 1)
            record = json.loads(header)
            if other := [key for key, value in self._made_by.items() if record["made by"].get(key) != value]:
                raise ValueError(f"it has {', '.join(f'another {key}' for key in other)}")
            self._before, self.parts = float(record["seconds"]), list(record["parts"])
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                state = self._kind(**{f.name: arrays[f.name] for f in fields(self._kind)})  # type: ignore[arg-type]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, TypeError, EOFError) as error:
            log(f"resaudit: cannot resume from {self._path}: {error}; starting afresh")
            return None
        log(f"resaudit: resumes from {self._path}, {self._before:.0f} s into the work")
        return state

    def write(self, state: State) -> None:
        """Replace the checkpoint."""
        content = io.BytesIO()
        seconds = round(self._before + time.monotonic() - self._start, 2)
        header = {"made by": self._made_by, "seconds": seconds, "parts": self.parts}
        content.write(json.dumps(header).encode() + b"\n")
        arrays = {f.name: getattr(state, f.name) for f in fields(self._kind)}  # type: ignore[arg-type]
        np.savez(content, allow_pickle=False, **arrays)
        with written_whole(self._path) as temporary, temporary.open("wb") as file:
            file.write(hashlib.sha256(content.getbuffer()).hexdigest().encode() + b"\n")
            file.write(content.getbuffer())

    def begin_part(self, start: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
        """Note where this process goes on; nothing, if the machine before it was the same."""
        if not self.parts or any(self.parts[-1].get(key) != value for key, value in machine.items()):
            self.parts.append({**start, **machine})

    def keep(self, state: Callable[[], State], signalled: int | None = None, due: bool = False) -> None:
        """Write a checkpoint if the last one is old enough or a signal asks the process to stop.

        Args:
            state: returns the state; called only to write it.
            signalled: the signal received, if any.
            due: write it, however young the last one is.

        Raises:
            Interrupted: a signal was received; the state is on disk.
        """
        if signalled is not None:
            self.write(state())
            raise Interrupted(signalled, f"what was done is kept in {self._path}; the next run resumes from there")
        if due or time.monotonic() - self._last >= self._seconds:
            try:
                self.write(state())
            except ResauditError as error:
                # A checkpoint that cannot be written must not end the work.
                log(f"resaudit: no checkpoint: {error}")
            self._last = time.monotonic()


def forget(folder: Path) -> None:
    """Remove the checkpoints of a job that is done: its own, and those of its runs in folders below."""
    for path in (*folder.glob(f"*/{CHECKPOINT}"), folder / CHECKPOINT):
        path.unlink(missing_ok=True)
        # Not empty: a job whose Snakemake was killed may still be writing there.
        with suppress(OSError):
            path.parent.rmdir()
