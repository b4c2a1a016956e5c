"""Oracle: a drawing by hand, with the surroundings of a service, a notebook or an old terminal.

Sees a job that fails, after all its work, for what it inherited.
"""

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from resaudit.base.errors import ResauditError
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, run_command

REFERENCE = ("device=cpu", "paths.figures=figures/reference")

INHERITED = {
    "a closed standard output": ("1>&-", {}),
    "closed standard streams": ("0<&- 1>&- 2>&-", {}),
    "a notebook's backend": ("", {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}),
    "a backend that needs a display": ("", {"MPLBACKEND": "TkAgg"}),
}


@pytest.fixture
def drawn(smoked: Path, tmp_path: Path) -> Path:
    """The folder of a drawing, removed from a copy of the smoke run."""
    (draw,) = (smoked / "results" / "draw").glob("demystifying_resnet-theorem2-*")
    shutil.copytree(smoked / "results", tmp_path / "results", symlinks=True)
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


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_what_an_encoding_lacks_is_no_error(encoding: str) -> None:
    command = ["resaudit", "audit", "--claim", "final-loss-near-optimal", *REFERENCE]
    environment = {"PYTHONIOENCODING": encoding}
    run = run_command("bash", "-c", '"$@" > /dev/null', "run", *command, cwd=CHECKOUT, environment=environment)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("stem", ["bias0.5", "Bias", "bias 5", "größe", ""])
def test_a_stem_that_no_rule_would_find_is_refused(stem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    job = next(iter(make_plan(load(["figures=[theorem2]", "device=cpu"])).jobs.values()))
    monkeypatch.setattr(type(job), "stem", stem)
    with pytest.raises(ResauditError, match="allowed: a to z"):
        _ = replace(job).id
