"""What a job costs in seconds of one core and in memory, from measured job times, and whether it wants a GPU.

For scheduling and ``explain``.
"""

from dataclasses import dataclass
from math import ceil

from resaudit.config import Device
from resaudit.devices import cuda_is_usable
from resaudit.plan import Ensemble, Hessians, Verification
from resaudit.training.kernels.library import why_not

# Measured on one core at 2.6 GHz with MKL, a job on the other; benchmarks/RESULTS.md holds the times they are from.
SECONDS_TO_START = 3.5
SECONDS_PER_LAYER_STEP = 8e-6
SECONDS_PER_LAYER_STEP_AND_RUN = 1.2e-6
SECONDS_PER_SAMPLE_AND_PARAMETER = {"fused": 6 / 165e9, "torch": 6 / 30e9}
SAMPLES = 60_000
SECONDS_PER_CUBED_PARAMETER = 4e-11
SECONDS_PER_SQUARED_PARAMETER = 3e-8
# A spectrum from counts, by layer, of the dearest networks (2-shortcut); the first of a run has no guess to start from.
SECONDS_PER_LAYER_COUNTED = 3e-3
SECONDS_PER_LAYER_COUNTED_FIRST = 10e-3
MEGABYTES_TO_START = 560.0
MEGABYTES_OF_SAMPLES = {"fused": 50.0, "torch": 1000.0}
SECONDS_PER_NETWORK = {1: 0.01, 2: 0.03, 3: 0.04, 4: 0.1, 5: 0.25}
SECONDS_PER_UNIT_BUILT = 1e-4
MEGABYTES_TO_VERIFY = 850.0
HESSIAN_COPIES = 2.6
# From this many on, two jobs at once would want more memory than a laptop likes to give.
MEGABYTES_FOR_TWO_THREADS = 1500.0
# A training longer than this would at the end of a run leave the other core without work.
SECONDS_FOR_TWO_THREADS = 120.0
# On a cluster two processes of Snakemake's stand around each job, some 125 MB each, and Slurm counts them.
MEGABYTES_OF_SNAKEMAKE = 300.0
MINUTES_TO_START = 5
# What is asked of a scheduler is more than is expected by these: processors differ more than memory does.
TIMES_SECONDS = 3.0
TIMES_MEGABYTES = 1.25


# All eigenvalues of a smaller Hessian take milliseconds on a CPU; CUDA takes seconds to start.
LEAST_PARAMETERS_FOR_GPU = 1000
Job = Ensemble | Hessians | Verification


def settled(wanted: Device) -> Device:
    """The device with ``auto`` decided: CUDA where this machine has one that torch can use."""
    if wanted is not Device.auto:
        return wanted
    return Device.cuda if cuda_is_usable() else Device.cpu


def device_of(job: Job, device: Device) -> Device:
    """Where a job runs: on a GPU only what wants one, if the device, once :func:`settled`, is one."""
    return Device.cuda if device is Device.cuda and wants_gpu(job) else Device.cpu


def wants_gpu(job: Job) -> bool:
    """Whether a GPU makes a job quicker: training on every sample, and all eigenvalues of large Hessians.

    Linear networks train on 10 x 10 matrices, and theorems and counts of eigenvalues are computed on the CPU alone.
    """
    match job:
        case Ensemble():
            return not job.network.is_linear
        case Hessians():
            return job.method == "dense" and job.ensemble.network.parameters >= LEAST_PARAMETERS_FOR_GPU
        case Verification():
            return False


@dataclass(frozen=True)
class Cost:
    """Seconds on one core, and megabytes of memory at the peak."""

    seconds: float
    megabytes: float

    def megabytes_asked(self, attempt: int = 1) -> int:
        """Memory to ask a scheduler for; each further attempt asks for as much again.

        >>> Cost(60, 1000).megabytes_asked(), Cost(60, 1000).megabytes_asked(2)
        (1550, 3100)
        """
        return attempt * int(MEGABYTES_OF_SNAKEMAKE + TIMES_MEGABYTES * self.megabytes)

    def minutes_asked(self, attempt: int = 1) -> int:
        """Wall time to ask a scheduler for, likewise.

        >>> Cost(60, 1000).minutes_asked(), Cost(60, 1000).minutes_asked(2)
        (8, 16)
        """
        return attempt * (MINUTES_TO_START + ceil(TIMES_SECONDS * self.seconds / 60))


def train_cost(ensemble: Ensemble, kernel: str) -> Cost:
    """Of training on a CPU by a kernel (fused, torch, auto); diverging runs make it cheaper than this."""
    runs, network = ensemble.trajectories, ensemble.network
    weights = 8e-6 * runs * network.parameters
    recorded = 24e-6 * runs * (ensemble.epochs + 1)
    megabytes = MEGABYTES_TO_START + recorded + weights * (6 + 2 * len(ensemble.snapshot_epochs))
    if network.is_linear:
        step = SECONDS_PER_LAYER_STEP + SECONDS_PER_LAYER_STEP_AND_RUN * runs
        return Cost(SECONDS_TO_START + step * network.depth * ensemble.epochs, megabytes)
    chosen = _chosen(ensemble, kernel)
    each = SECONDS_PER_SAMPLE_AND_PARAMETER[chosen]
    return Cost(
        SECONDS_TO_START + each * SAMPLES * network.parameters * runs * ensemble.epochs,
        megabytes + MEGABYTES_OF_SAMPLES[chosen] + 6 * weights,
    )


def train_threads(ensemble: Ensemble, kernel: str) -> int:
    """Two for long trainings by the fused kernel, whose bits do not depend on threads; else one."""
    fused = not ensemble.network.is_linear and _chosen(ensemble, kernel) == "fused"
    return 2 if fused and train_cost(ensemble, kernel).seconds > SECONDS_FOR_TWO_THREADS else 1


def _chosen(ensemble: Ensemble, kernel: str) -> str:
    return "torch" if kernel == "torch" or why_not(ensemble.network) else "fused"


def curvature_cost(job: Hessians) -> Cost:
    """Of the Hessians' statistics: from counts, where the compiled kernel takes them, or from all eigenvalues."""
    return _counted_cost(job.ensemble) if job.method == "counts" else _dense_cost(job.ensemble)


def _counted_cost(ensemble: Ensemble) -> Cost:
    depth, size, runs = ensemble.network.depth, ensemble.network.parameters, ensemble.runs
    later = max(0, len(ensemble.snapshot_epochs) - 1)
    each = depth * (SECONDS_PER_LAYER_COUNTED_FIRST + SECONDS_PER_LAYER_COUNTED * later)
    snapshots = 8e-6 * (later + 1) * runs * size
    vectors = 2 * max(1e-3 * size, min(268.0, 1e-3 * size * runs))
    return Cost(SECONDS_TO_START + each * runs, MEGABYTES_TO_START + 2 * snapshots + vectors)


def _dense_cost(ensemble: Ensemble) -> Cost:
    size = ensemble.network.parameters
    hessians = max(1, len(ensemble.snapshot_epochs)) * ensemble.runs
    each = SECONDS_PER_CUBED_PARAMETER * size**3 + SECONDS_PER_SQUARED_PARAMETER * size**2
    snapshots = 8e-6 * hessians * size
    batch = max(8e-6 * size**2, min(268.0, 8e-6 * size**2 * ensemble.runs))
    return Cost(SECONDS_TO_START + each * hessians, MEGABYTES_TO_START + snapshots + HESSIAN_COPIES * batch)


def curvature_threads(job: Hessians) -> int:
    """Two where the Hessians are so large that one such job at a time has to do, else one."""
    return 2 if curvature_cost(job).megabytes > MEGABYTES_FOR_TWO_THREADS else 1


def verify_cost(verification: Verification) -> Cost:
    """Of checking a theorem, on random and on real data; deeper shortcuts than 5 cost twice as much each."""
    cases = verification.cases
    sizes = 2 * cases.draws * len(cases.widths) * len(cases.samples_per_class)
    networks = sizes * len(cases.units) * max(1, len(cases.activations))
    differentiated = sum(
        SECONDS_PER_NETWORK[min(n, 5)] * 2.0 ** max(0, n - 5) * networks for n in cases.shortcut_depths
    )
    built = 0
    if verification.experiment == "theorem_1":
        built = 2 * cases.draws * sum(cases.widths) * sum(cases.samples_per_class) * sum(cases.steps)
    return Cost(SECONDS_TO_START + differentiated + SECONDS_PER_UNIT_BUILT * built, MEGABYTES_TO_VERIFY)


WHITEN_COST = Cost(7.0, 1200.0)
DRAW_COST = Cost(6.0, 220.0)
JUDGE_COST = Cost(10.0, 300.0)
"""Of whitening, of drawing a figure, and of judging all claims: at most, as measured."""
