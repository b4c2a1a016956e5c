"""To which digit results stay the same when the number of threads changes: short jobs of every kind, once with each.

python benchmarks/threads.py [--threads 2]      # after demystifying_resnet/fig04 and fig08 have been drawn

Prints, of each kind of job and column, the largest relative difference to one thread, infinities and NaN apart.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from resaudit.data.whiten import Whiten
from resaudit.plan.composition import load
from resaudit.plan.plan import Plan, make_plan
from residual.demystifying_resnet.curvature.structured import structured_spectra_along
from residual.demystifying_resnet.jobs.hessians import Hessians
from residual.demystifying_resnet.jobs.train import Train, train
from residual.demystifying_resnet.networks.hessians import spectra_along
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.training.sampled import sampled_objective

EPOCHS = 2
CPU = torch.device("cpu")


def main() -> None:
    """Compute with one thread and with more, in processes of their own, and print what differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.into:
        torch.set_num_threads(asked.threads)
        np.savez(asked.into, **{f"{kind}: {name}": value for kind, name, value in columns(planned())})
        return
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{threads}.npz" for threads in (1, asked.threads)]
        for file, threads in zip(files, (1, asked.threads), strict=True):
            subprocess.run([sys.executable, __file__, "--threads", str(threads), "--into", str(file)], check=True)
        compare(*files)


def planned() -> Plan:
    return make_plan(load(["figures=[demystifying_resnet/fig04,fig08]"]))


def columns(plan: Plan) -> Iterator[tuple[str, str, np.ndarray]]:
    """Kind of job, column, and values, of a few jobs of each kind."""
    for kind, result in jobs(plan):
        for field in fields(result):
            yield kind, field.name, np.asarray(getattr(result, field.name))


def jobs(plan: Plan) -> Iterator[tuple[str, Any]]:
    results = Path(plan.config.paths.results)
    (data,) = (job for job in plan.jobs.values() if isinstance(job, Whiten))
    moments, whitened = data.moments(results), data.samples(results)
    for job in plan.jobs.values():
        if isinstance(job, Train) and job.ensemble.network.depth == 4:
            few = replace(job.ensemble, runs=1)
            short = replace(job, ensemble=few, epochs=EPOCHS, learning_rates=job.learning_rates[:2])
            for kernel in ("fused", "torch"):
                objective, _ = sampled_objective(few.network, whitened, CPU, kernel)
                yield f"train, {kernel}, {job.id}", train(short, objective, short.learning_rates, CPU)
        if isinstance(job, Hessians) and job.ensemble.network.depth in (2, 16):
            few = replace(job.ensemble, runs=2)
            weights, network = few.initial_weights(), few.network
            objective = LinearObjective.of(network, moments, CPU)
            short = Train(data, few, EPOCHS, (0.1,))
            yield f"train, linear, {job.id}", train(short, objective, short.learning_rates, CPU)
            yield f"counts, {job.id}", structured_spectra_along([weights], network, moments)
            for dtype in (torch.float32, torch.float64):
                spectra = spectra_along([weights.to(CPU, dtype)], network, moments)
                yield f"dense, {str(dtype).removeprefix('torch.')}, {job.id}", spectra


def compare(one: Path, more: Path) -> None:
    with np.load(one) as first, np.load(more) as second:
        for name in first.files:
            print(f"{name}: {apart(first[name], second[name])}")


def apart(first: np.ndarray, second: np.ndarray) -> str:
    """In words, the largest relative difference."""
    if first.tobytes() == second.tobytes():
        return "same bits"
    known = np.isfinite(first) & np.isfinite(second) & (first != 0)
    largest = (np.abs(second - first)[known] / np.abs(first[known])).max(initial=0.0)
    return f"{largest:.1e}"


if __name__ == "__main__":
    main()
