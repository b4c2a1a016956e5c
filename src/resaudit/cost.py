"""What a job costs in seconds of one core and in memory, from measured job times; for scheduling and ``explain``."""

from dataclasses import dataclass

from resaudit.plan import Ensemble, Hessians

# Measured on one core at 2.6 GHz with MKL; benchmarks/RESULTS.md holds the times they were taken from.
SECONDS_TO_START = 3.0
SECONDS_PER_LAYER_STEP = 8e-6
SECONDS_PER_LAYER_STEP_AND_RUN = 0.9e-6
SECONDS_PER_CUBED_PARAMETER = 4e-11
SECONDS_PER_SQUARED_PARAMETER = 3e-8
MEGABYTES_TO_START = 500.0
HESSIAN_COPIES = 2.6
# From this many on, two jobs at once would want more memory than a laptop likes to give.
MEGABYTES_FOR_TWO_THREADS = 1500.0


@dataclass(frozen=True)
class Cost:
    """Seconds on one core, and megabytes of memory at the peak."""

    seconds: float
    megabytes: float


def train_cost(ensemble: Ensemble) -> Cost:
    """Of training; diverging runs make it cheaper than this."""
    runs, network = ensemble.trajectories, ensemble.network
    step = SECONDS_PER_LAYER_STEP + SECONDS_PER_LAYER_STEP_AND_RUN * runs
    weights = 8e-6 * runs * network.parameters
    recorded = 24e-6 * runs * (ensemble.epochs + 1)
    return Cost(
        SECONDS_TO_START + step * network.depth * ensemble.epochs,
        MEGABYTES_TO_START + recorded + weights * (6 + 2 * len(ensemble.snapshot_epochs)),
    )


def curvature_cost(job: Hessians) -> Cost:
    """Of the dense Hessians and their eigenvalues."""
    ensemble = job.ensemble
    size = ensemble.network.parameters
    hessians = max(1, len(ensemble.snapshot_epochs)) * ensemble.runs
    each = SECONDS_PER_CUBED_PARAMETER * size**3 + SECONDS_PER_SQUARED_PARAMETER * size**2
    snapshots = 8e-6 * hessians * size
    batch = max(8e-6 * size**2, min(268.0, 8e-6 * size**2 * ensemble.runs))
    return Cost(SECONDS_TO_START + each * hessians, MEGABYTES_TO_START + snapshots + HESSIAN_COPIES * batch)


def curvature_threads(job: Hessians) -> int:
    """Two where the Hessians are so large that one such job at a time has to do, else one."""
    return 2 if curvature_cost(job).megabytes > MEGABYTES_FOR_TWO_THREADS else 1
