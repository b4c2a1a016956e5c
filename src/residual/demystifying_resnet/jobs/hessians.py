"""Spectra of exact Hessians of one ensemble: along its training, or at its initial point."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.paper import Cost, Execution, Job, Tolerance, Whiten, Work, arrays
from residual.demystifying_resnet.curvature.counts import counted_by
from residual.demystifying_resnet.jobs.train import Train
from residual.demystifying_resnet.networks.spectra import Spectra
from residual.demystifying_resnet.training.ensemble import Ensemble

# Measured as those of training.
SECONDS_PER_CUBED_PARAMETER = 4e-11
SECONDS_PER_SQUARED_PARAMETER = 3e-8
# A spectrum from counts, per layer, of the most expensive networks (2-shortcut); a run's first has no initial guess.
SECONDS_PER_LAYER_COUNTED = 3e-3
SECONDS_PER_LAYER_COUNTED_FIRST = 10e-3
HESSIAN_COPIES = 2.6
# Above this, two jobs at once would need more memory than a laptop has.
MEGABYTES_FOR_TWO_THREADS = 1500.0
SECONDS_AT_ONCE = 60.0
"""Estimated time of the runs whose spectra are computed side by side, two at least; those done are kept."""
# All eigenvalues of a smaller Hessian take milliseconds on a CPU; CUDA takes seconds to start.
LEAST_PARAMETERS_FOR_GPU = 1000

EIGENVALUES = 8
"""Near the noise floor, as counted in the smallest network; that many may lie on the other side of it elsewhere."""


@dataclass(frozen=True)
class Hessians(Job):
    """The Hessians of an ensemble at its training's snapshots, or, without training, at its initial point."""

    kind = "hessians"
    files = {"spectra.npz": Spectra}

    data: Whiten  # whose moments give the Hessian
    ensemble: Ensemble  # of linear networks
    precision: str  # floating-point type of Hessians and eigenvalues
    method: str  # "counts" of eigenvalues below bounds, or "dense": all eigenvalues
    training: Train | None = None  # of that ensemble

    @property
    def stem(self) -> str:
        """Ensemble, precision and method."""
        return f"{self.ensemble.stem}-{self.precision}-{self.method}"

    def size(self, name: str) -> int | None:
        """The number of runs is that of the training."""
        if name == "runs":
            return self.training.size(name) if self.training else self.ensemble.runs
        return super().size(name)

    @property
    def snapshots(self) -> int:
        """Number of Hessians per run."""
        return len(self.training.snapshot_epochs) if self.training else 1

    def cost(self, execution: Execution) -> Cost:
        """The cost of counts by the compiled kernel, or of all eigenvalues."""
        runs = self.training.trajectories if self.training else self.ensemble.runs
        size = self.ensemble.network.parameters
        snapshots = 8e-6 * self.snapshots * runs * size
        if self.method == "counts":
            vectors = 2 * max(1e-3 * size, min(268.0, 1e-3 * size * runs))
            megabytes = Cost.START.megabytes + 2 * snapshots + vectors
        else:
            batch = max(8e-6 * size**2, min(268.0, 8e-6 * size**2 * runs))
            megabytes = Cost.START.megabytes + snapshots + HESSIAN_COPIES * batch
        wants_gpu = self.method == "dense" and size >= LEAST_PARAMETERS_FOR_GPU
        threads = 2 if megabytes > MEGABYTES_FOR_TWO_THREADS else 1
        return Cost(Cost.START.seconds + self._seconds_of_run * runs, megabytes, threads, wants_gpu)

    @property
    def _seconds_of_run(self) -> float:
        if self.method == "counts":
            counted = SECONDS_PER_LAYER_COUNTED_FIRST + SECONDS_PER_LAYER_COUNTED * (self.snapshots - 1)
            return self.ensemble.network.depth * counted
        size = self.ensemble.network.parameters
        return self.snapshots * (SECONDS_PER_CUBED_PARAMETER * size**3 + SECONDS_PER_SQUARED_PARAMETER * size**2)

    def reads(self, results: Path) -> list[Path]:
        """The data's moments, and the training's snapshots."""
        return [*self.data.written(results, "moments.npz"), *(self.training.written(results) if self.training else [])]

    def tolerances(self) -> Mapping[str, Tolerance]:
        """How far another CPU platform may be apart."""
        # The share of eigenvalues; counts may be apart by the half too.
        share = (EIGENVALUES + 0.5) / self.ensemble.network.parameters
        return {
            "lambda_max": Tolerance(relative=1e-6, differing=0.05),
            "noise_floor": Tolerance(relative=1e-6, differing=0.05),
            # The smallest tenth of the eigenvalues, relative to rounding of the largest.
            "lambda_p10": Tolerance(relative=1e-3, absolute=2e-9, differing=0.05),
            "condition_number": Tolerance(relative=1e-3, differing=0.15),
            "index": Tolerance(absolute=share, differing=0.05),
            "sizeable_index": Tolerance(absolute=share, differing=0.05),
            # The signs of eigenvalues under the noise floor are rounding.
            "raw_index": Tolerance(absolute=1.0),
            "resolved": Tolerance(differing=0.05),
        }

    def run(self, work: Work) -> dict[str, Any]:
        """Compute the spectra of some runs after the other; resume after those that a checkpoint holds."""
        import torch

        from resaudit.paper import Checkpoint, Progress
        from residual.demystifying_resnet.curvature.structured import structured_spectra_along
        from residual.demystifying_resnet.networks.hessians import spectra_along

        counts = self.method == "counts"
        work.record["kernel"] = counted_by() if counts else "LAPACK"
        device, dtype = torch.device(work.device), getattr(torch, self.precision)
        if self.training is None:
            snapshots = self.ensemble.initial_weights()[None]
        else:
            snapshots = torch.from_numpy(self.training.read(work.results, with_snapshots=True).snapshots)
        along = structured_spectra_along if counts else spectra_along
        moments = self.data.moments(work.results)
        # Other weights may stand under the same id, where the training ran again.
        trained = self.training.provenance(work.results).sha256 if self.training else {}
        checkpoint = Checkpoint.of(self, work, Spectra, {"kernel": work.record["kernel"], "training": trained})
        parts, done = list[Spectra](), 0
        if (kept := checkpoint.read()) is not None:
            parts, done = [kept], kept.index.shape[1]
            checkpoint.note(work.record, "run", done)

        def so_far() -> Spectra:
            return arrays.joined(parts, axis=1)

        size = max(2, int(SECONDS_AT_ONCE // self._seconds_of_run))
        with work.delayed_signals() as signalled:
            for first in range(done, snapshots.shape[2], size):
                of_runs = Progress.over(snapshots[:, :, first : first + size], f"{self.id} Hessians")
                points = (weights.to(device, dtype) for weights in of_runs)
                parts.append(along(points, self.ensemble.network, moments))
                checkpoint.keep(so_far, signalled())
        return {"spectra.npz": so_far()}

    def kernels(self, device: str, lanes: Mapping[str, int]) -> tuple[str, ...]:
        """LAPACK, or what counts (:func:`residual.demystifying_resnet.curvature.counts.counted_by`)."""
        if self.method == "dense":
            return ("LAPACK",)
        return (f"compiled counts, vectors of {lanes['counts']} doubles" if "counts" in lanes else "LAPACK up to *",)

    def read_along(self, results: Path) -> list[Path]:
        """The moments, from which figures compute theoretical values."""
        return self.data.written(results, "moments.npz")
