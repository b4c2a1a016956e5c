"""The provenance of a job that never ran, as the runner would write it."""

from typing import Any

RAN: dict[str, Any] = {
    "device": "cpu",
    "threads": 1,
    "kernel": "counts",
    "seconds": 61.5,
    "started": "2026-11-21T10:00:00+00:00",
    "finished": "2026-11-21T10:01:01+00:00",
    "python": "3.11.7",
    "packages": {"numpy": "2.3.5", "torch": None},
    "machine class": {"device": "cpu", "processor": "made up", "BLAS": {"numpy": "openblas 0.3"}, "switches": {}},
    "code": "0" * 64,
    "sha256": {"counts.npz": "1" * 64},
    "inputs": {"whiten/a-0/moments.npz": "2" * 64},
}
