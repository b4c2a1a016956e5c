"""How a run ends on the screen that did not do all, with the profile as it is. Oracle: the job's log, and the screen.

Sees a stop that looks like a crash, a failure without its reason, and a screen that scrolls away what matters.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from resaudit.cli.skeleton import write_paper
from resaudit.plan.models import Config
from tests.conftest import AT_SMOKE, CHECKOUT, Completed, run_command

RUN = [
    sys.executable, "-m", "snakemake", "--snakefile", str(CHECKOUT / "Snakefile"), "--cores", "2", *AT_SMOKE,
    "figures=[theorem1]",
]  # fmt: skip


def test_after_ctrl_c_the_last_line_says_how_to_go_on_and_to_see_what_is_drawn(
    mnist_config: Config, tmp_path: Path
) -> None:
    assert mnist_config
    command = [*RUN[:-1], "figures=[theorem1,demystifying_resnet/fig04]"]
    with (tmp_path / "screen").open("w") as screen:
        # Where the tests themselves run in the background, the shell has them ignore Ctrl-C.
        run = subprocess.Popen(
            command, cwd=tmp_path, stdout=screen, stderr=screen, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
    for _ in range(600):
        if list(tmp_path.glob("figures/*/theorem1.json")):
            break
        time.sleep(0.1)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(60) == 1
    lines = (tmp_path / "screen").read_text(encoding="utf-8").splitlines()
    assert lines[-1].startswith("stopped")
    assert not [line for line in lines if "Error" in line]

    def shown(page: str) -> list[str]:
        text = (tmp_path / page).read_text(encoding="utf-8")
        return [name for name in ("theorem1", "fig04") if f'download="demystifying_resnet-{name}.csv"' in text]

    (page,) = re.findall("resaudit (audit --page .*)", lines[-1])
    assert run_command(sys.executable, "-m", "resaudit", *shlex.split(page), cwd=tmp_path).returncode == 0
    assert shown("so_far.html") == ["theorem1"]
    assert not (tmp_path / "figures/audit.html").exists()
    assert run_command(*command, cwd=tmp_path).returncode == 0
    assert shown("figures/audit.html") == ["theorem1", "fig04"]


def screen(run: Completed) -> list[str]:
    return (run.stdout + run.stderr).splitlines()


def test_a_failed_job_is_told_by_its_logs_last_line(tmp_path: Path) -> None:
    overrides = f"overrides=[paths.data={tmp_path}/data,dataset.sources=[folder]]"
    run = run_command(*RUN, overrides, cwd=tmp_path)
    assert run.returncode == 1
    *_, failed, last = screen(run)
    (log,) = tmp_path.glob("results/logs/fetch/*.log")
    assert log.read_text(encoding="utf-8").splitlines()[-1] in failed
    assert failed.endswith(f"cat {log.relative_to(tmp_path)}")
    assert last.startswith("1 job failed")


def test_a_job_that_ends_without_a_word_is_told_too(tmp_path: Path) -> None:
    """As where the kernel kills it for its memory."""
    write_paper("coins", tmp_path / "papers")
    jobs = tmp_path / "papers" / "coins" / "jobs.py"
    text = jobs.read_text(encoding="utf-8")
    assert "return Tosses" in text
    killed = "__import__('os').kill(__import__('os').getpid(), 9); return Tosses"
    jobs.write_text(text.replace("return Tosses", killed), encoding="utf-8")
    config = [f"papers_path={tmp_path / 'papers'}", "figures=[coins]"]
    run = run_command(*RUN[:-1], *config, cwd=tmp_path)
    assert run.returncode == 1
    assert [line for line in screen(run) if line.startswith("failed: coins_toss: ")]
    assert "jobs failed" in screen(run)[-1]


def test_what_matters_is_last_and_a_job_is_one_line(mnist_config: Config, tmp_path: Path) -> None:
    assert mnist_config
    lines = screen(run_command(*RUN, cwd=tmp_path))
    done = [index for index, line in enumerate(lines) if " jobs done" in line]
    assert done == list(range(done[0], done[0] + 6))
    assert lines[done[-1] + 1 :] == [line for line in lines if "of 1 chosen claims supported" in line]
