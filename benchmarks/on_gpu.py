"""All that only a GPU can show, in one command of at most 25 minutes.

python -m benchmarks.on_gpu run ARCHIVE [--part PART ...] [--minutes N]   on the machine with the GPU, without a network
python -m benchmarks.on_gpu run ARCHIVE --rehearse                        the same on a CPU in small, in a minute
python -m benchmarks.on_gpu prepare ARCHIVE                               where Hydra is, for a machine without it

Parts, in this order: ``tests`` (bytes of graphs and eager steps, also after a resume), ``steps`` (microseconds a
layer and step, eager and by a graph, memory against the plan), ``peer`` (the usual loop), ``arithmetic`` (the
all-convolutional network in TFLOP/s), ``figure`` (Figure 2 of Demystifying ResNet at scale gpu_hour; what is not done
when the time is over stays as checkpoints). The exit status is 1 if a part failed.

ARCHIVE, inside the checkout: class folders of images as of the data set cifar10_jpeg. Where the package is not
installed, PYTHONPATH=src. To a machine without Hydra take the checkout along, ARCHIVE in it, ``results/plan`` and
``results/on_gpu/jobs.txt``. Needed there: torch, torchvision, NumPy, SciPy, pandas, matplotlib, click, pytest,
pydantic, grimp and filelock >= 4.2. Those that are not there can be taken along: ``pip download --only-binary :all:
--python-version 3.12 --dest wheels pydantic grimp filelock``, and there ``pip install --no-index --find-links wheels
pydantic grimp filelock``. The report is printed and written to results/on_gpu/report.md after each part, the whole
output of tests and jobs beside it.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import chain, product
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from resaudit.base.errors import ResauditError
from resaudit.data.images import ImageSet
from residual.images import costs
from residual.images.networks.residual import build
from residual.images.schedule import Schedule
from residual.images.setting import AllConvolutional, Network, PostActivation, PreActivation, Recipe
from residual.images.training import TrainingRun, deterministic, load

RESULTS = Path("results")
FIGURE, DATASET = "demystifying_resnet/fig02", "cifar10_jpeg"
TESTS = ["test_image_samples", "test_image_training", "test_image_networks", "test_image_costs"]
BATCH = 128
DEPTHS = (38, 110, 434, 1202)
# Of each saved number, in the least traffic of a step: written and read forward, read backward, and its gradient
# written and read.
PASSES = 5
SECONDS_OF_STEPS, LEAST_SECONDS = 4.0, 30
LINES = 40
"""Of another process's output that the report shows."""
COPIED = 2**29
"""Numbers that are copied to measure the memory's bandwidth."""


def paced(step: Callable[[], object], device: torch.device, seconds: float) -> float:
    """Seconds of a step, called for so long and at least three times."""
    wait: Callable[[], None] = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    for _ in range(3):
        step()
    wait()
    start, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - start < seconds:
        step()
        count += 1
    wait()
    return (time.perf_counter() - start) / count


def random_images(train: int, tests: int = BATCH) -> ImageSet:
    """Random images of CIFAR's shape: time does not depend on them."""
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (train + tests, 3, 32, 32), dtype=np.uint8)
    labels = rng.integers(0, 10, train + tests, dtype=np.uint8)
    return ImageSet(pixels[:train], labels[:train], pixels[train:], labels[train:], 10)


def endless(augmentation: str = "pad_last") -> Recipe:
    """A recipe long enough never to end, at a rate at which nothing diverges."""
    return Recipe(10_000, "epochs", 1e-3, (), BATCH, augmentation, evaluations=1)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Trial:
    """How large the parts are.

    Attributes:
        device: of all parts.
        depths: of pre-activation networks.
        seconds: of a measurement.
        blocks: of each stage of the all-convolutional network.
        images: of the training set.
        archive: of the figure's images; None: the figure is planned.
        scale: of the figure.
        overrides: of its configuration.
    """

    device: torch.device
    depths: tuple[int, ...] = DEPTHS
    seconds: float = SECONDS_OF_STEPS
    blocks: int = 9
    images: int = 49_920  # whole batches: a smaller one would be an eager step
    archive: Path | None = None
    scale: str = "gpu_hour"
    overrides: tuple[str, ...] = ()


REHEARSAL = Trial(torch.device("cpu"), (8, 14), 0.5, 1, 1280, None, "smoke", ("fig02.depths=[8]",))


def main() -> None:
    """Prepare or run."""
    parser = argparse.ArgumentParser(description="what only a GPU can show; the module's docstring says how")
    commands = parser.add_subparsers(required=True, dest="command")
    preparing = commands.add_parser("prepare")
    preparing.add_argument("archive", type=Path)
    preparing.add_argument("--scale", default="gpu_hour")
    preparing.add_argument("overrides", nargs="*", help="of the configuration")
    running = commands.add_parser("run")
    running.add_argument("archive", type=Path, nargs="?", help="default: that of prepare")
    running.add_argument("--part", choices=list(PARTS), action="append", help="default: all")
    running.add_argument("--minutes", type=float, default=25.0)
    running.add_argument("--rehearse", action="store_true")
    options = parser.parse_args()
    if options.command == "prepare":
        prepare(options.archive, options.scale, options.overrides)
        return
    if not options.rehearse and not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device; --rehearse runs the same on the CPU, in small")
    trial = REHEARSAL if options.rehearse else Trial(torch.device("cuda"))
    trial = replace(trial, archive=options.archive)
    sys.exit(run(trial, options.part or list(PARTS), time.monotonic() + 60 * options.minutes))


def run(trial: Trial, parts: list[str], until: float) -> int:
    """Run parts, one after the other; a part that fails is said, and the next one begins. 1 if one failed, else 0."""
    failed, report = 0, RESULTS / "on_gpu" / "report.md"
    report.parent.mkdir(parents=True, exist_ok=True)
    say(report, f"# On a GPU\n\n{machine(trial.device)}\n")
    for part in parts:
        start = time.monotonic()
        try:
            for line in chain([f"\n## {part}\n"], PARTS[part](trial, until)):
                say(report, line)
                if time.monotonic() > until:
                    say(report, "\nno time left")
                    break
        # A part must not take the others along: the machine may be lent for this hour only.
        except Exception as error:
            failed = 1
            say(report, f"\nfailed: {type(error).__name__}: {error}")
        # The next part may be other processes, which need the memory that this one keeps.
        if trial.device.type == "cuda":
            torch.cuda.empty_cache()
        say(report, f"\n{time.monotonic() - start:.0f} s")
    return failed


def say(report: Path, line: str) -> None:
    """Print a line and add it to the report."""
    print(line, flush=True)
    with report.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def machine(device: torch.device) -> str:
    """What the numbers are of."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU (a rehearsal)"
    return f"{name}; torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"


def ended(name: str, command: list[str], until: float, environment: dict[str, str] | None = None) -> int | None:
    """Exit status of a command, None if it was ended as the time was over; what it says is kept beside the report."""
    with (
        said(name).open("w", encoding="utf-8") as file,
        subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment) as process,
    ):
        try:
            return process.wait(max(LEAST_SECONDS, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.terminate()
    return None


def said(name: str) -> Path:
    """The file of what a command says."""
    return RESULTS / "on_gpu" / f"{name.replace('/', '-')}.txt"


def said_by(part: str, command: list[str], until: float, environment: dict[str, str] | None = None) -> Iterator[str]:
    """The last lines of what a command says; raises RuntimeError if it fails by itself."""
    status = ended(part, command, until, environment)
    yield "\n".join(["```", *said(part).read_text(encoding="utf-8").strip().splitlines()[-LINES:], "```"])
    if status:
        raise RuntimeError(f"exit status {status}")


def tests(_trial: Trial, until: float) -> Iterator[str]:
    """The oracles that want a GPU; their own report says which passed."""
    files = [f"tests/oracle/{name}.py" for name in TESTS]
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-o", "addopts=", "-p", "no:cacheprovider", "--noconftest"]
    command += ["-m", "not slow"]
    # Plugins may need what is not there.
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    yield from said_by("tests", [*command, *files], until, alone)


def steps(trial: Trial, _until: float) -> Iterator[str]:
    """Time and memory of a step, eager and by a graph, by depth."""
    bandwidth = copied_a_second(trial.device)
    yield f"A copy in the device's memory: {bandwidth / 1e9:.0f} GB/s.\n"
    titles = ["depth", "steps", "us a layer and step", "images/s", "bandwidth floor, share"]
    yield f"| {' | '.join(titles)} | planned MB | measured MB |\n|---|---|---|---|---|---|---|"
    for depth, by_graph in product(trial.depths, (False, True)):
        network = PreActivation(depth)
        counts, planned = costs.counts(network), costs.gpu_run_megabytes(network, endless())
        try:
            measured = timed(trial, network, endless(), by_graph)
        except ResauditError as error:
            yield f"| {depth} | {'graph' if by_graph else 'eager'} | {error} | | | {planned:.0f} | |"
            continue
        speed = f"{1e6 * measured.seconds / counts.layers:.1f} | {BATCH / measured.seconds:.0f}"
        floor = PASSES * 4 * BATCH * counts.saved / bandwidth / measured.seconds
        yield f"| {depth} | {measured.how} | {speed} | {floor:.0%} | {planned:.0f} | {measured.megabytes:.0f} |"


def peer(trial: Trial, _until: float) -> Iterator[str]:
    """The engine against the usual loop, whose convolutions torch does in TF32 unless told otherwise."""
    from benchmarks.images import usual

    images = random_images(trial.images)
    loop = usual(images, trial.device)
    took = paced(lambda: next(loop), trial.device, trial.seconds)
    engine = timed(trial, PostActivation(20, batch_norm=True, power=None), endless("pad_first"))
    yield f"Usual loop: {BATCH / took:.0f} images/s. Engine: {BATCH / engine.seconds:.0f} images/s, "
    yield f"{took / engine.seconds:.1f} times as many; steps: {engine.how}."


def arithmetic(trial: Trial, _until: float) -> Iterator[str]:
    """The all-convolutional network."""
    network = AllConvolutional(trial.blocks)
    flops = 2 * costs.PRODUCTS * costs.counts(network).macs * BATCH
    measured = timed(trial, network, endless("standardise"))
    speed = flops / measured.seconds / 1e12
    yield f"{1e3 * measured.seconds:.1f} ms a step, {speed:.2f} TFLOP/s; steps: {measured.how}."


def figure(trial: Trial, until: float) -> Iterator[str]:
    """Figure 2, planned here if Hydra is; a run that is not done in time keeps its checkpoint."""
    listed = RESULTS / "on_gpu" / "jobs.txt"
    if trial.archive and find_spec("hydra"):
        prepare(trial.archive, trial.scale, trial.overrides)
    if not listed.is_file():
        raise RuntimeError("nothing is planned; give ARCHIVE where Hydra is, or take along what prepare writes there")
    keys, statuses = listed.read_text(encoding="utf-8").split(), []
    for key in keys:
        start = time.monotonic()
        statuses.append(ended(key, [sys.executable, "-m", "resaudit", "run", key, "--results", str(RESULTS)], until))
        yield f"- {key}: exit status {statuses[-1]}, {time.monotonic() - start:.0f} s"
    if any(statuses):
        raise RuntimeError(f"a job failed; {said('KIND/ID')} has what it said")
    yield from drawn(RESULTS / keys[-1] / "figure.csv")


def drawn(table: Path) -> Iterator[str]:
    """What Figure 2 says of each depth at the end, mean over runs."""
    rows = pd.read_csv(table)
    last = rows[rows["epoch"] == rows["epoch"].max()].groupby("depth")[["mean_frobenius_norm", "test_error"]].mean()
    yield "\n| depth | mean Frobenius norm | test error, % |\n|---|---|---|"
    for depth, (norm, error) in zip(last.index, last.to_numpy(), strict=True):
        yield f"| {depth} | {norm:.3f} | {error:.2f} |"


PARTS: dict[str, Callable[[Trial, float], Iterator[str]]] = {
    "tests": tests,
    "steps": steps,
    "peer": peer,
    "arithmetic": arithmetic,
    "figure": figure,
}


def prepare(archive: Path, scale: str, overrides: Sequence[str]) -> None:
    """Write the jobs of Figure 2 on the images of an archive into the plan, and their keys beside the report."""
    from resaudit.figures.draw import draw_job
    from resaudit.jobs.job import Execution
    from resaudit.jobs.plan_files import write_job
    from resaudit.plan.composition import load as compose
    from resaudit.plan.plan import make_plan

    device = "cuda" if scale == "gpu_hour" else "cpu"
    asked = [f"scale={scale}", f"figures=[{FIGURE}]", f"device={device}"]
    chosen = [
        f"figure.{FIGURE.replace('/', '.')}.{part}" for part in (f"dataset={DATASET}", f"dataset.folder={archive}")
    ]
    of_figure = compose([*asked, *chosen, *overrides], only=[FIGURE])
    of_paper = compose(["scale=paper"], only=[FIGURE])
    drawing = draw_job(of_figure.figure[FIGURE], of_paper.figure[FIGURE], of_figure)
    jobs = [*make_plan(of_figure).jobs.values(), drawing]
    for job in jobs:
        write_job(job, Execution(device=device), RESULTS)
    listed = RESULTS / "on_gpu" / "jobs.txt"
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("".join(f"{job.key}\n" for job in jobs), encoding="utf-8")
    print(f"planned {len(jobs)} jobs of {FIGURE} at scale {scale}; take results/plan, {listed} and {archive} along")


@dataclass(frozen=True)
class Measured:
    """One step of a run.

    Attributes:
        seconds: of the step.
        megabytes: of the GPU's memory at the peak, without what lay there before; nan on a CPU.
        how: steps were taken.
    """

    seconds: float
    megabytes: float
    how: str


def timed(trial: Trial, network: Network, of: Recipe, by_graph: bool = True) -> Measured:
    """Train for some seconds; on a CPU all steps are eager.

    Raises:
        ResauditError: it does not fit into the GPU's memory.
    """
    images, cuda = random_images(trial.images), trial.device.type == "cuda"
    data, schedule = load(images, of.augmentation, False, trial.device), Schedule(of, trial.images)
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_reserved()
    with deterministic(trial.device.type):
        run = TrainingRun(build(network, 3, 10, 1), data, schedule, 1, 0)
        how = run.use_graph() if by_graph and cuda else "eager"
        seconds = paced(run.advance, trial.device, trial.seconds)
    # Reserved: between replays the memory of a graph belongs to it, though nothing in it is allocated.
    return Measured(seconds, (torch.cuda.max_memory_reserved() - before) / 1e6 if cuda else np.nan, how)


def copied_a_second(device: torch.device) -> float:
    """Bytes read and written by a copy, per second."""
    size = COPIED if device.type == "cuda" else COPIED // 64
    source, target = (torch.zeros(size, device=device) for _ in range(2))
    return 8 * size / paced(lambda: target.copy_(source), device, 0.5)


if __name__ == "__main__":
    main()
