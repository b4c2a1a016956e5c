"""What a provenance says of device and kernel, held against the job: they decide how strictly a result is compared."""

from fnmatch import fnmatchcase

from resaudit.base.errors import ResauditError
from resaudit.base.models import shown
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.job_provenance import JobProvenance


def check_machine(job: Job, ran: JobProvenance, where: str) -> None:
    """Check that a machine and a kernel can have made a job's result.

    Of a kind of job from outside the repository only bytes ever count, so nothing is asked.

    Args:
        job: of this checkout's plan.
        ran: its provenance.
        where: this is, for the error.

    Raises:
        ResauditError: they cannot.
    """
    if job.tolerances() is None:
        return
    device = "cpu" if ran.device == "cpu" else "cuda"
    if device == "cuda" and not job.cost(Execution(device)).wants_gpu:
        raise ResauditError(f"{where} has the device {shown(ran.device)}; allowed: cpu, since this job uses no GPU")
    if ran.cpu_platform.get("device") != ran.device:
        raise ResauditError(f"{where} has the device {shown(ran.device)}, but its CPU platform another; get it again")
    lanes = ran.cpu_platform.get("vector lanes")
    known = {name: n for name, n in lanes.items() if isinstance(n, int)} if isinstance(lanes, dict) else {}
    allowed = job.kernels(device, known)
    if not any(fnmatchcase(ran.kernel or "", name) for name in allowed or ("",)):
        words = "; ".join(allowed) or "none"
        raise ResauditError(f"{where} has the kernel {shown(ran.kernel)}; allowed for this job and machine: {words}")
