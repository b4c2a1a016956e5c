"""All that only a GPU can show, in one command of at most 25 minutes.

python -m benchmarks.on_gpu prepare ARCHIVE                       where Hydra is: writes the plan of Figure 2
python -m benchmarks.on_gpu run [--part PART ...] [--minutes N]   on the machine with the GPU, without a network

The same on a CPU in small, in a minute:

python -m benchmarks.on_gpu prepare ARCHIVE "fig02.depths=[8]" --scale smoke
python -m benchmarks.on_gpu run --rehearse

Parts, in this order: ``tests`` (bytes of graphs and eager steps, alone and in packs, after a resume; kernels against
their twins), ``steps`` (microseconds a layer and step, memory against the plan), ``peer`` (the usual loop),
``arithmetic`` (the all-convolutional network in TFLOP/s), ``kernels`` (Figure 8's, torch and Triton), ``figure``
(Figure 2 of Demystifying ResNet at scale gpu_hour; what is not done when the time is over stays as checkpoints).

Where the package is not installed, PYTHONPATH=src. To take along: the checkout, ``results/plan``,
``results/on_gpu/jobs.txt`` and ARCHIVE, which has to lie inside the checkout: class folders of images as of the data
set cifar10_jpeg. Needed there: torch, triton, torchvision, NumPy, SciPy, pandas, matplotlib, click, pytest, pydantic,
grimp and filelock >= 4.2. Those that are not there can be taken along: ``pip download --only-binary :all:
--python-version 3.12 --dest wheels pydantic grimp filelock``, and there ``pip install --no-index --find-links wheels
pydantic grimp filelock``. The report is printed and written to results/on_gpu/report.md after each part, the whole
output of tests and kernels beside it.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from resaudit.datasets.images import ImageSet
from resaudit.errors import ResauditError
from resaudit.images import costs
from resaudit.images.engine import check_memory, load
from resaudit.images.networks.build import build
from resaudit.images.precision import computing
from resaudit.images.schedule import Schedule
from resaudit.images.setting import AllConvolutional, Network, PostActivation, PreActivation, Recipe
from resaudit.images.trainee import Trainee, deterministic

RESULTS = Path("results")
FIGURE, DATASET = "demystifying_resnet/fig02", "cifar10_jpeg"
TESTS = ["test_image_samples", "test_image_training", "test_image_networks", "test_cuda_kernel"]
DEPTHS, PACKS = (38, 110, 434, 1202), (1, 2, 4, 8)
BATCH = 128
# Of each saved number, in the least traffic of a step: written and read forward, read backward, and its gradient
# written and read.
PASSES = 5
SECONDS_OF_STEPS = 4.0
LINES = 40
"""Of another process's output that the report shows."""
COPIED = 2**29
"""Numbers that are copied to measure the memory's bandwidth."""


@dataclass(frozen=True)
class Trial:
    """How large the parts are.

    Attributes:
        device: of all parts.
        depths: of pre-activation networks.
        packs: runs at once.
        seconds: of a measurement.
        blocks: of each stage of the all-convolutional network.
        images: of the training set.
    """

    device: torch.device
    depths: tuple[int, ...] = DEPTHS
    packs: tuple[int, ...] = PACKS
    seconds: float = SECONDS_OF_STEPS
    blocks: int = 9
    images: int = 49_920  # whole batches: each other size would be captured within the time that is measured


REHEARSAL = Trial(torch.device("cpu"), (8, 14), (1, 2), 0.5, 1, 1280)


def main() -> None:
    """Prepare or run."""
    parser = argparse.ArgumentParser(description="what only a GPU can show; the module's docstring says how")
    commands = parser.add_subparsers(required=True, dest="command")
    preparing = commands.add_parser("prepare")
    preparing.add_argument("archive", type=Path)
    preparing.add_argument("--scale", default="gpu_hour")
    preparing.add_argument("overrides", nargs="*", help="of the configuration")
    running = commands.add_parser("run")
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
    run(trial, options.part or list(PARTS), time.monotonic() + 60 * options.minutes)


def run(trial: Trial, parts: list[str], until: float) -> None:
    """Run parts, one after the other; a part that fails is said, and the next one begins."""
    report = RESULTS / "on_gpu" / "report.md"
    report.parent.mkdir(parents=True, exist_ok=True)
    say(report, f"# On a GPU\n\n{machine(trial.device)}\n")
    for part in parts:
        say(report, f"\n## {part}\n")
        start = time.monotonic()
        try:
            for line in PARTS[part](trial, until):
                say(report, line)
        # A part must not take the others along: the machine may be lent for this hour only.
        except Exception as error:
            say(report, f"failed: {type(error).__name__}: {error}")
        # The next part may be other processes, which need the memory that this one keeps.
        if trial.device.type == "cuda":
            torch.cuda.empty_cache()
        say(report, f"\n{time.monotonic() - start:.0f} s")


def say(report: Path, line: str) -> None:
    """Print a line and add it to the report."""
    print(line, flush=True)
    with report.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def machine(device: torch.device) -> str:
    """What the numbers are of."""
    name = torch.cuda.get_device_name() if device.type == "cuda" else "CPU (a rehearsal)"
    return f"{name}; torch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}"


def said_by(part: str, command: list[str], until: float, environment: dict[str, str] | None = None) -> list[str]:
    """The last lines of what a command says; all of it is kept beside the report."""
    said, left = RESULTS / "on_gpu" / f"{part}.txt", max(60, until - time.monotonic())
    with said.open("w", encoding="utf-8") as file:
        subprocess.run(command, stdout=file, stderr=subprocess.STDOUT, check=False, env=environment, timeout=left)
    return said.read_text(encoding="utf-8").strip().splitlines()[-LINES:]


def tests(trial: Trial, until: float) -> Iterator[str]:
    """The oracles that want a GPU; their own report says which passed."""
    files = [f"tests/oracle/{name}.py" for name in TESTS[: 1 if trial.device.type == "cpu" else None]]
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-o", "addopts=", "-p", "no:cacheprovider", "--noconftest"]
    command += ["-p", "benchmarks.made_fixtures", "-m", "not slow"]
    # Plugins may need what is not there.
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    yield "```"
    yield from said_by("tests", [*command, *files], until, alone)
    yield "```"


def steps(trial: Trial, _until: float) -> Iterator[str]:
    """Time and memory of a step, by depth and pack."""
    bandwidth = copied_a_second(trial.device)
    yield f"A copy in the device's memory: {bandwidth / 1e9:.0f} GB/s.\n"
    yield "| depth | runs at once | us a layer and step of one run | images/s, all runs | bandwidth floor, share |"
    yield "|---|---|---|---|---|"
    peaks = []
    for depth in trial.depths:
        network = PreActivation(depth)
        counts, planned = costs.counts(network), costs.run_megabytes(network, recipe())
        for pack in trial.packs:
            try:
                measured = timed(trial, network, recipe(), pack)
            except ResauditError as error:
                yield f"| {depth} | {pack} | {error} | | |"
                continue
            each = measured.seconds / pack
            floor = PASSES * 4 * BATCH * counts.saved / bandwidth
            yield (f"| {depth} | {pack} | {1e6 * each / counts.layers:.1f} | {BATCH / each:.0f} | {floor / each:.0%} |")
            # One run more, as a job plans: before its smaller last batch is captured, it takes steps without a graph.
            peaks.append(f"| {depth} | {pack} | {(pack + 1) * planned:.0f} | {measured.megabytes:.0f} |")
    yield "\n| depth | runs at once | planned MB | measured MB |\n|---|---|---|---|"
    yield from peaks


def peer(trial: Trial, _until: float) -> Iterator[str]:
    """The engine in fp32 against the usual loop, whose convolutions torch does in TF32 unless told otherwise."""
    from benchmarks.images import usual

    images = made(trial)
    loop = usual(images, trial.device)
    took = paced(trial, lambda: next(loop))
    engine = timed(trial, PostActivation(20, batch_norm=True, power=None), recipe("pad_first"), 1)
    packed = timed(trial, PostActivation(20, batch_norm=True, power=None), recipe("pad_first"), trial.packs[-1])
    yield f"Usual loop: {BATCH / took:.0f} images/s. Engine: {BATCH / engine.seconds:.0f} images/s, "
    yield f"{took / engine.seconds:.1f} times as many; with {trial.packs[-1]} runs at once "
    yield f"{trial.packs[-1] * BATCH / packed.seconds:.0f}, {trial.packs[-1] * took / packed.seconds:.1f} times."


def arithmetic(trial: Trial, _until: float) -> Iterator[str]:
    """The all-convolutional network, by precision."""
    network = AllConvolutional(trial.blocks)
    flops = 2 * costs.PRODUCTS * costs.counts(network).macs * BATCH
    yield "| precision | ms a step | TFLOP/s |\n|---|---|---|"
    for precision in ("fp32", "tf32", "bf16"):
        measured = timed(trial, network, recipe("standardise", precision), 1)
        yield f"| {precision} | {1e3 * measured.seconds:.1f} | {flops / measured.seconds / 1e12:.2f} |"


def kernels(trial: Trial, until: float) -> Iterator[str]:
    """Figure 8's kernels, by their own benchmark."""
    if trial.device.type == "cpu":
        yield "not rehearsed: Triton needs a GPU"
        return
    command = [sys.executable, "-m", "benchmarks.relu_gradient_cuda", "--no-compile"]
    yield from (f"- {line}" for line in said_by("kernels", command, until))


def figure(_trial: Trial, until: float) -> Iterator[str]:
    """Figure 2 from the plan that ``prepare`` wrote; a run that is not done in time keeps its checkpoint."""
    listed = RESULTS / "on_gpu" / "jobs.txt"
    if not listed.is_file():
        raise ResauditError("nothing is planned; first, where Hydra is: python -m benchmarks.on_gpu prepare ARCHIVE")
    for key in listed.read_text(encoding="utf-8").split():
        left = until - time.monotonic()
        if left < 30:
            yield f"- {key}: no time left"
            continue
        command = [sys.executable, "-m", "resaudit", "run", key, "--results", str(RESULTS)]
        start = time.monotonic()
        with subprocess.Popen(command) as job:
            try:
                status = job.wait(left)
            except subprocess.TimeoutExpired:
                job.send_signal(signal.SIGTERM)
                status = job.wait()
        yield f"- {key}: exit status {status}, {time.monotonic() - start:.0f} s"


PARTS: dict[str, Callable[[Trial, float], Iterator[str]]] = {
    "tests": tests,
    "steps": steps,
    "peer": peer,
    "arithmetic": arithmetic,
    "kernels": kernels,
    "figure": figure,
}


def prepare(archive: Path, scale: str, overrides: Sequence[str]) -> None:
    """Write the jobs of Figure 2 on the images of an archive into the plan, and their keys beside the report."""
    from resaudit.config.composition import load as compose
    from resaudit.jobs.draw import draw_job
    from resaudit.plan.files import write_job
    from resaudit.plan.job import Execution
    from resaudit.plan.plan import make_plan

    device = "cuda" if scale == "gpu_hour" else "cpu"
    asked = [f"scale={scale}", f"figures=[{FIGURE}]", f"device={device}"]
    chosen = [
        f"figure.{FIGURE.replace('/', '.')}.{part}" for part in (f"dataset={DATASET}", f"dataset.folder={archive}")
    ]
    config, of_paper = compose([*asked, *chosen, *overrides]), compose(["scale=paper"], only=[FIGURE])
    drawing = draw_job(config.figure[FIGURE], of_paper.figure[FIGURE], config)
    jobs = [*make_plan(config).jobs.values(), drawing]
    for job in jobs:
        write_job(job, Execution(device=device), RESULTS)
    listed = RESULTS / "on_gpu" / "jobs.txt"
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text("".join(f"{job.key}\n" for job in jobs), encoding="utf-8")
    print(f"planned {len(jobs)} jobs of {FIGURE} at scale {scale}; take results/plan, {listed} and {archive} along")


@dataclass(frozen=True)
class Measured:
    """One step of all runs of a pack.

    Attributes:
        seconds: of the step.
        megabytes: of the GPU's memory at the peak, without what lay there before; nan on a CPU.
    """

    seconds: float
    megabytes: float


def timed(trial: Trial, network: Network, of: Recipe, pack: int) -> Measured:
    """Train a pack for some seconds.

    Raises:
        ResauditError: it does not fit into the GPU's memory.
    """
    images, cuda = made(trial), trial.device.type == "cuda"
    data, schedule = load(images, of.augmentation, False, trial.device), Schedule(of, trial.images)
    if cuda:
        torch.cuda.empty_cache()
        check_memory(0.0, costs.run_megabytes(network, of), torch.cuda.mem_get_info()[0] / 1e6, pack)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_reserved()
    with deterministic(trial.device), computing(of.precision):
        runs = [Trainee(build(network, 3, 10, run), data, schedule, 1, run, captured=True) for run in range(pack)]
        seconds = paced(trial, lambda: [one.advance() for one in runs])
    # Reserved: between replays the memory of a graph belongs to it, though nothing in it is allocated.
    return Measured(seconds, (torch.cuda.max_memory_reserved() - before) / 1e6 if cuda else np.nan)


def paced(trial: Trial, step: Callable[[], object]) -> float:
    """Seconds of a step, after three that warm up."""
    wait = torch.cuda.synchronize if trial.device.type == "cuda" else lambda: None
    for _ in range(3):
        step()
    wait()
    start, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - start < trial.seconds:
        step()
        count += 1
    wait()
    return (time.perf_counter() - start) / count


def copied_a_second(device: torch.device) -> float:
    """Bytes read and written by a copy, per second."""
    size = COPIED if device.type == "cuda" else COPIED // 64
    source, target = (torch.zeros(size, device=device) for _ in range(2))
    return 8 * size / paced(Trial(device, seconds=0.5), lambda: target.copy_(source))


def recipe(augmentation: str = "pad_last", precision: str = "fp32") -> Recipe:
    """Long enough never to end; a rate at which nothing diverges."""
    return Recipe(10_000, "epochs", 1e-3, (), BATCH, augmentation, precision=precision, evaluations=1)  # type: ignore[arg-type]


def made(trial: Trial) -> ImageSet:
    """Random images: time does not depend on them."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (trial.images, 3, 32, 32), dtype=np.uint8)
    labels = rng.integers(0, 10, trial.images, dtype=np.uint8)
    return ImageSet(images, labels, images[:BATCH], labels[:BATCH], 10)


if __name__ == "__main__":
    main()
