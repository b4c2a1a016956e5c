"""Shared fixtures: real MNIST, fetched once into the checkout's data folder as any run does."""

import fcntl
import gc
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

# Before torch is loaded: a process keeps to one core, on which the bytes of tables depend.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import numpy as np
import pytest

from resaudit.audit.job import AuditJob
from resaudit.base import papers
from resaudit.base.errors import ResauditError
from resaudit.cli.commands import main
from resaudit.data.dataset import Dataset
from resaudit.data.fetch import fetch
from resaudit.data.whiten import Moments, Whitened, whiten
from resaudit.figures.draw import Draw, draw_job
from resaudit.jobs import code
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.plan_files import read_job, write_job
from resaudit.jobs.runner import run_job
from resaudit.plan.composition import load
from resaudit.plan.figure import Figure
from resaudit.plan.models import Config, Layout
from resaudit.plan.plan import Plan, fetch_of, make_plan
from resaudit.runtime.limits import processors
from tests import forked

# Imports and collection make millions of objects and hardly any garbage; Python's default looks for it at every 700th.
gc.set_threshold(50_000)
# No deadline: no test is timed, and machines are slow at times.
hypothesis.settings.register_profile("resaudit", deadline=None)
hypothesis.settings.load_profile("resaudit")

collect_ignore = ["example_paper"]
CHECKOUT = Path(__file__).resolve().parents[1]


WHOLE_FOLDERS = {"workflow", "faults", "cluster", "clouds"}
WHOLE_FIXTURES = {"browser", "finished", "site"}
"""What makes a test one of the workflow's tier, unless it is marked slow: its folder, or a fixture that it needs."""
# Of the first tier in this order, all else before: what is fast, then what needs the smoke run, long files first.
LATE = ("oracle", "residual", "share/test_spot_check", "share/test_merging", "audit", "share")
# Of the workflow's tier first: what makes the shared runs, what waits for others, and long files.
EARLY = ("workflow/test_smoke", "workflow/test_storage", "cluster/test_slurm", "clouds", "faults/test_disk")


def place_of(item: pytest.Item) -> tuple[bool, int]:
    """The tier of a test, and its file's place there."""
    file = item.path.with_suffix("").as_posix().removeprefix(f"{CHECKOUT}/tests/")
    whole = item.get_closest_marker("workflow") is not None
    order = [*EARLY, ""] if whole else ["", *LATE]
    return whole, next((i for i, name in enumerate(order) if name and file.startswith(name)), order.index(""))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test has one tier; the fast ones come first."""
    for item in items:
        whole = WHOLE_FOLDERS & set(item.path.parts) or WHOLE_FIXTURES & set(getattr(item, "fixturenames", ()))
        if whole and not item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.workflow)
    items.sort(key=place_of)


def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores: tests on Slurm wait most of the time."""
    return processors() + 1


Completed = subprocess.CompletedProcess[str]
Command = Callable[..., Completed]


@cache
def configured(*overrides: str) -> Config:
    """The configuration of all figures and claims, composed once a process."""
    return load(overrides)


def first_of(plan: Plan, kind: str) -> Any:
    """The first job of a kind, whose class only its paper knows."""
    return next(iter(plan.jobs_of(kind).values()))


def data_of(config: Config) -> Dataset:
    """The data set that all figures of a configuration have."""
    (dataset,) = config.datasets()
    return dataset


def run_planned(job: Job, results: Path, execution: Execution | None = None) -> None:
    """Write a job into the plan of a results folder, and run it from there."""
    write_job(job, execution or Execution(), results)
    run_job(job.key, results)


def smoke_figure(name: str, *overrides: str) -> Figure:
    """The figure ``paper/figure`` at scale smoke, with overrides of its own keys."""
    asked = [f"figure.{name.replace('/', '.')}.{override}" for override in overrides]
    return load(["scale=smoke", *asked], only=[name]).figure[name]


def assert_refused(compose: Callable[..., object], *arguments: str, message: str) -> None:
    """Check that settings are refused in one line with this in it."""
    with pytest.raises(ResauditError) as refused:
        compose(*arguments)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def assert_read_back(jobs: Iterable[Job], results: Path) -> None:
    """Check that jobs come back as they were from the plan files that they are written to."""
    for job in jobs:
        write_job(job, Execution(), results)
        assert read_job(results, job.key)[0] == job


@contextmanager
def one_at_a_time(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """A folder that all of pytest's processes share, held by one of them."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield shared


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A copy of a folder that is made by whichever process comes first."""
    with one_at_a_time(factory, name) as shared:
        made = shared / name
        if not made.exists():
            half = shared / f"{name}.half"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir()
            make(half)
            half.rename(made)
        return Path(shutil.copytree(made, factory.mktemp("copy") / name))


def forget_papers() -> None:
    """Make this process one without papers outside, as a command's is when it starts."""
    for paper in papers.outside_papers():
        for name in [name for name in sys.modules if name.split(".")[0] == paper]:
            del sys.modules[name]
    papers._added.clear()
    importlib.invalidate_caches()


@pytest.fixture
def no_paper_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in the checkout to which a test may add papers outside."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(code, "_graph", cache(code._graph.__wrapped__))
    monkeypatch.setattr(code, "_files", cache(code._files.__wrapped__))
    monkeypatch.chdir(CHECKOUT)
    yield
    forget_papers()


@pytest.fixture(scope="session")
def mnist_config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    config = load([f"paths.data={CHECKOUT / 'data'}"])
    with one_at_a_time(tmp_path_factory, "fetch"):
        fetch(data_of(config), CHECKOUT / "data" / "mnist")
    return config


@pytest.fixture(scope="session")
def mnist(mnist_config: Config) -> tuple[np.ndarray, np.ndarray]:
    """All training images and labels."""
    return fetch_of(data_of(mnist_config), mnist_config.paths.data).training_set()


@pytest.fixture(scope="session")
def whitened(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Whitened:
    """The same with ten whitened inputs."""

    def make(folder: Path) -> None:
        samples = fetch_of(data_of(mnist_config), mnist_config.paths.data).training_set()
        np.savez(folder / "whitened.npz", **vars(whiten(*samples, components=10, centered=True)))

    with np.load(made_once(tmp_path_factory, "whitened", make) / "whitened.npz") as arrays:
        return Whitened(**arrays)


@pytest.fixture(scope="session")
def moments(whitened: Whitened) -> Moments:
    return Moments.of(whitened.inputs, whitened.targets)


@pytest.fixture(scope="session")
def few_samples(whitened: Whitened) -> tuple[np.ndarray, np.ndarray, Moments]:
    """1000 real whitened samples with their own moments: what holds for these holds for any sample."""
    inputs, targets = whitened.inputs[:, :1000].copy(), whitened.targets[:, :1000].copy()
    return inputs, targets, Moments.of(inputs, targets)


def run_command(*command: str, cwd: Path, timeout: float = 300, environment: dict[str, str] | None = None) -> Completed:
    """A real command of the project in a folder, as a user would type it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **(environment or {})}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout, check=False
    )


@pytest.fixture(autouse=True)
def environment_stays() -> Iterator[None]:
    """What ``resaudit`` sets for its children, called in this process, is not what other tests' children inherit."""
    with mock.patch.dict(os.environ):
        yield


def in_process(*arguments: str, cwd: Path) -> Completed:
    """``resaudit …`` in a folder without a process of its own, whose imports take seconds."""
    said, wrong = StringIO(), StringIO()
    typed = mock.patch.object(sys, "argv", ["resaudit", *arguments])
    with chdir(cwd), redirect_stdout(said), redirect_stderr(wrong), mock.patch.dict(os.environ), typed:
        status = main()
    return Completed(arguments, status, said.getvalue(), wrong.getvalue())


@pytest.fixture
def resaudit(tmp_path: Path) -> Command:
    """``resaudit …`` in an empty folder."""
    return lambda *arguments, **more: run_command("resaudit", *arguments, cwd=tmp_path, **more)


def run_snakemake(*arguments: str, cwd: Path, cores: str = "all", **more: Any) -> Completed:
    """``snakemake …`` on the checkout's Snakefile and profile, with a folder's results."""
    return forked.snakemake(*snakemake_command(*arguments, cores=cores)[1:], cwd=cwd, **more)


def snakemake_command(*arguments: str, cores: str = "all") -> list[str]:
    """``snakemake …`` on the checkout's Snakefile and profile, with the working directory's results and its jobs."""
    return ["snakemake", "--quiet=reason", "--snakefile", str(CHECKOUT / "Snakefile"), "--cores", cores, *arguments]


@pytest.fixture
def snakemake(tmp_path: Path) -> Command:
    """``snakemake …`` in an empty folder."""
    return lambda *arguments: run_snakemake(*arguments, cwd=tmp_path)


AT_SMOKE = ("--config", "scale=smoke", f"overrides=[paths.data={CHECKOUT / 'data'}]")


def smoke_command(*arguments: str) -> list[str]:
    return snakemake_command(*AT_SMOKE, *arguments)


def smoke(folder: Path, *arguments: str, config: tuple[str, ...] = (), cores: str = "all") -> Completed:
    return run_snakemake(*arguments, *AT_SMOKE, *config, cwd=folder, cores=cores, timeout=900)


OFFLINE = ("unshare", "--net", "--map-root-user")
"""Runs a command in a network namespace of its own, whose only interface is the loopback, and that is down."""


def why_not_offline() -> str | None:
    """Why no command can be run without a network here; None if it can."""
    if shutil.which(OFFLINE[0]) is None:
        return "there is no unshare (util-linux) here"
    tried = subprocess.run([*OFFLINE, "true"], capture_output=True, text=True, check=False)
    return f"this machine allows no network namespaces: {tried.stderr.strip()}" if tried.returncode else None


@pytest.fixture(scope="session")
def smoked(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every figure at scale smoke, drawn and judged by jobs in this process, without the workflow."""
    assert mnist_config
    asked = ("scale=smoke", f"paths.data={CHECKOUT / 'data'}")

    def draw(folder: Path) -> None:
        with chdir(folder):
            config = load(asked)
            draw_here(make_plan(config))
            run_planned(AuditJob(config, asked), Path("results"))

    return made_once(tmp_path_factory, "smoke", draw)


def draw_here(plan: Plan) -> None:
    """Compute and draw the figures of a plan in this process, without the workflow."""
    layout = Layout(plan.config.paths)
    for job in plan.jobs.values():
        run_planned(job, layout.results)
    for name, part in plan.figures.items():
        drawing = draw_job(part.figure, configured("scale=paper").figure[name], plan.config)
        run_planned(drawing, layout.results)
        show(drawing, layout)


def show(drawing: Draw, layout: Layout) -> None:
    """Copy a drawing to where a reader looks, as the workflow's rule does."""
    for file in drawing.folder(layout.results).iterdir():
        shown = layout.figure(drawing.figure.name, file.suffix[1:])
        shown.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, shown)


@pytest.fixture(scope="session")
def finished(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same by the workflow, without interruption and, if possible, network."""
    assert mnist_config

    def draw(folder: Path) -> None:
        offline = () if why_not_offline() else OFFLINE
        run = run_command(*offline, *smoke_command(), cwd=folder, timeout=900)
        assert run.returncode == 0, run.stderr[-3000:]

    return made_once(tmp_path_factory, "finished", draw)
