"""Oracle: a drawing by hand, and a run, with the surroundings of a service, a notebook, an old terminal or a plugin.

Sees a job that fails, after all its work, for what it inherited, and a plugin of Snakemake that is told less than all.
"""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from resaudit.base.errors import PaperError
from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, run_command, snakemake_command
from tests.refusals import assert_exits, refused

REFERENCE = ("device=cpu", "paths.figures=figures/reference")

CLOSED = {
    "a closed standard input": "0<&-",
    "a closed standard output": "1>&-",
    "a closed standard error": "2>&-",
    "closed standard streams": "0<&- 1>&- 2>&-",
}
INHERITED = {what: (streams, dict[str, str]()) for what, streams in CLOSED.items()} | {
    "a notebook's backend": ("", {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}),
    "settings of matplotlib that are no text": ("", {"MATPLOTLIBRC": sys.executable}),
    "a backend that needs a display": ("", {"MPLBACKEND": "TkAgg"}),
}


@pytest.fixture
def drawn(finished: Path, tmp_path: Path) -> Path:
    """The folder of a drawing, removed from a copy of the smoke run."""
    (draw,) = (finished / "results" / "draw").glob("demystifying_resnet-theorem2-*")
    shutil.copytree(finished / "results", tmp_path / "results", symlinks=True)
    shutil.rmtree(tmp_path / "results" / "draw" / draw.name)
    return tmp_path / "results" / "draw" / draw.name


@pytest.mark.parametrize("what", INHERITED)
def test_a_job_is_done_whatever_it_inherits(drawn: Path, what: str) -> None:
    streams, environment = INHERITED[what]
    command = [sys.executable, "-m", "resaudit", "run", f"draw/{drawn.name}"]
    folder = drawn.parents[2]
    run = run_command("bash", "-c", f'"$@" {streams}', "run", *command, cwd=folder, environment=environment)
    assert run.returncode == 0, run.stderr
    assert {"figure.csv", "figure.json", "figure.svg"} <= {file.name for file in drawn.iterdir()}


@pytest.fixture
def fetching(mnist_config: Config) -> list[str]:
    """A run of one job, whose shell needs standard error: raw data from a folder."""
    folder = Path(mnist_config.paths.data) / "mnist"
    given = f"overrides=[dataset.sources=[folder],dataset.folder={folder}]"
    return snakemake_command("fetch_mnist", "--config", "scale=smoke", "figures=[theorem2]", given)


# One by one what they are together: with -m slow; a job has each above.
@pytest.mark.parametrize(
    "what", [what if "streams" in what else pytest.param(what, marks=pytest.mark.slow) for what in CLOSED]
)
def test_a_run_is_done_whatever_is_closed(what: str, fetching: list[str], tmp_path: Path) -> None:
    run = run_command("bash", "-c", f'"$@" {CLOSED[what]}', "run", *fetching, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(list((tmp_path / "data" / "mnist").iterdir())) == 4
    assert "checksums right" in (tmp_path / "results" / "logs" / "fetch" / "mnist.log").read_text(encoding="utf-8")


PYTHON_M = [sys.executable, "-m", "snakemake"]


@pytest.mark.parametrize(
    ("start", "names"), [(["snakemake"], ["random", "yaml", "click", "numpy"]), (PYTHON_M, ["hydra", "grimp"])]
)
def test_files_of_the_working_directory_are_no_modules(
    start: list[str], names: list[str], fetching: list[str], tmp_path: Path
) -> None:
    """Sees a user's random.py imported in place of Python's."""
    for name in names:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')", encoding="utf-8")
    run = run_command(*start, *fetching[1:], cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "shadowed" not in run.stdout + run.stderr


@pytest.mark.parametrize("level", ["1", "2"])
def test_python_without_assertions_is_refused_in_one_line(level: str, fetching: list[str], tmp_path: Path) -> None:
    for command in (fetching, ["resaudit", "list"], ["resaudit", "explain", "fig07", "seed=2"]):
        run = run_command(*command, cwd=tmp_path, environment={"PYTHONOPTIMIZE": level})
        assert_exits(run, "PYTHONOPTIMIZE")
        assert run.stderr.count("resaudit: error") == 1


PLUGIN = """
from snakemake_interface_logger_plugins.base import LogHandlerBase


class LogHandler(LogHandlerBase):
    writes_to_stream = writes_to_file = needs_rulegraph = False
    has_filter = has_formatter = True

    def emit(self, record):
        with open("events", "a") as events:
            print(getattr(record, "event", None), getattr(record, "output", None), file=events)
"""


def test_a_plugin_gets_what_the_terminal_is_not_shown(fetching: list[str], tmp_path: Path) -> None:
    (package := tmp_path / "snakemake_logger_plugin_tiny").mkdir()
    (package / "__init__.py").write_text(PLUGIN, encoding="utf-8")
    found = {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(CHECKOUT / "src")])}
    run = run_command(*fetching, "--logger", "tiny", cwd=tmp_path, environment=found)
    assert run.returncode == 0, run.stderr
    assert "train-images-idx3-ubyte and 3 more" in run.stderr
    assert "1 of 1 jobs done" in run.stderr
    events = (tmp_path / "events").read_text(encoding="utf-8")
    (log,) = (tmp_path / ".snakemake" / "log").iterdir()
    for whole in (events, log.read_text(encoding="utf-8")):
        assert "t10k-labels-idx1-ubyte" in whole
        assert "jobs done" not in whole
    assert "progress" in events.lower()


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_what_an_encoding_lacks_is_no_error(encoding: str) -> None:
    command = ["resaudit", "audit", "--claim", "final-loss-near-optimal", *REFERENCE]
    environment = {"PYTHONIOENCODING": encoding}
    run = run_command("bash", "-c", '"$@" > /dev/null', "run", *command, cwd=CHECKOUT, environment=environment)
    assert run.returncode == 0, run.stderr


def test_a_user_id_may_have_no_name(fetching: list[str], tmp_path: Path) -> None:
    """As in a container that runs under somebody's number."""
    nameless = ("env", "-u", "USER", "-u", "LOGNAME", "unshare", "--user", "--map-user=54321", "--map-group=0")
    if shutil.which("unshare") is None or run_command(*nameless, "true", cwd=tmp_path).returncode:
        pytest.skip("user namespaces are not permitted here")
    run = run_command(*nameless, *fetching, cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]


@pytest.mark.parametrize("stem", ["bias0.5", "Bias", "bias 5", "größe", ""])
def test_a_stem_that_no_rule_would_find_is_refused(stem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = next(iter(make_plan(load(["figures=[theorem2]", "device=cpu"])).jobs.values()))
    monkeypatch.setattr(type(job), "stem", stem)
    with refused(PaperError, job.kind, stem):
        _ = replace(job).id
