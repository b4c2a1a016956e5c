"""Files removed, cut, changed or swapped behind Snakemake's back, and then `snakemake` again.

Oracle: the bytes of a run in whose folder nobody was. Either the run ends with them, or one line says what is wrong and
what to do, and doing just that gives them. Sees a file that is believed for its name or its date.
"""

import os
import re
import shutil
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from resaudit.base.errors import ResauditError
from resaudit.jobs.job import Job
from resaudit.jobs.plan_files import computing_kinds
from resaudit.plan.plan import make_plan
from tests.conftest import configured, in_process
from tests.faults.conftest import FEW_OVERRIDES, FIGURES, NOTHING, PAPER, done_as_told, drawn, error_of, few


def kept_date(path: Path, change: Callable[[Path], None]) -> None:
    before = path.stat()
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def one_byte(path: Path) -> None:
    """Change one digit or letter in the middle, so that JSON and CSV stay what they are."""
    content = bytearray(path.read_bytes())
    place = next(i for i in range(len(content) // 2, len(content)) if chr(content[i]).isalnum())
    content[place] = ord("7") if content[place] != ord("7") else ord("3")
    path.write_bytes(content)


def remove(path: Path) -> None:
    path.unlink()


def swap(path: Path) -> None:
    """Put the file of that kind of another job or figure in its place; where there is none, cut it."""
    others = [p for p in sorted(path.parents[1].rglob(f"*{path.suffix}")) if p != path]
    others = [p for p in others if p.name == path.name] or [p for p in others if p.parent == path.parent]
    cut(path) if not others else shutil.copy(others[0], path)


WAYS: dict[str, Callable[[Path], None]] = {
    "removed": remove,
    "cut": cut,
    "cut, date kept": lambda path: kept_date(path, cut),
    "one byte": one_byte,
    "one byte, date kept": lambda path: kept_date(path, one_byte),
    "swapped": swap,
    "swapped, date kept": lambda path: kept_date(path, swap),
}
RESULTS = [
    "whiten/*/samples.npz", "whiten/*/moments.npz", "whiten/*/settings.json", "whiten/*/provenance.json",
    "train/*/trajectory.npz", "train/*/settings.json", "train/*/provenance.json",
    "hessians/*/spectra.npz", "hessians/*/settings.json", "hessians/*/provenance.json",
    "theorem/*/measurements.npz", "theorem/*/settings.json", "theorem/*/provenance.json",
]  # fmt: skip
SHOWN = [f"{PAPER}/fig05.{suffix}" for suffix in ("csv", "svg")]
"""What the page is made from: it carries a SHA-256. A change that keeps the date is seen when something reads it."""


def the_file(folder: Path, pattern: str) -> Path:
    return sorted(folder.glob(pattern))[0]


@cache
def smoke_jobs() -> dict[str, list[Job]]:
    """The jobs of each kind in a smoke run. It trains on no images."""
    found: dict[str, list[Job]] = {}
    for job in make_plan(configured("scale=smoke")).jobs.values():
        found.setdefault(job.kind, []).append(job)
    return found


@pytest.mark.parametrize("kind", sorted({*computing_kinds()} - {"train_images"}))
def test_a_spoilt_result_of_any_kind_is_refused(kind: str, finished: Path, tmp_path: Path) -> None:
    """Without dates. Of a provenance only the SHA-256 of its results decides what is read."""
    job, *others = smoke_jobs()[kind]
    whole, here = job.folder(finished / "results"), job.folder(tmp_path / "results")
    read = {"whiten": "moments.npz"}.get(kind, next(iter(job.files)))
    ways = {way: WAYS[way] for way in ("removed", "cut", "one byte")}
    if others:
        of_another = others[0].folder(finished / "results")
        ways["swapped"] = lambda path: shutil.copy(of_another / path.name, path)
    for name, (way, spoil) in product((read, "settings.json", "provenance.json"), ways.items()):
        shutil.copytree(whole, here, dirs_exist_ok=True)
        job.read(tmp_path / "results")
        if (name, way) != ("provenance.json", "one byte"):
            spoil(here / name)
            with pytest.raises(ResauditError, match=r"--force .*provenance\.json"):
                job.read(tmp_path / "results")


def spoilt_and_run_again(file: Path, way: str, redrawn: bool, copy: Path, undisturbed: Path) -> str:
    """Spoil a file and run, do what is asked for and run until all is well; gives what happened."""
    WAYS[way](file)
    if redrawn:
        shutil.rmtree(copy / "results" / "draw")
    told = 0
    run = few(copy)
    while run.returncode and told < 3:
        told += 1
        few(copy, *done_as_told(error_of(run), copy))
        run = few(copy)
    assert run.returncode == 0, run.stderr[-3000:]
    assert drawn(copy) == drawn(undisturbed)
    again = few(copy, "--dry-run")
    assert NOTHING in again.stdout + again.stderr  # it comes to an end
    if told:
        return "said"
    return "redone" if NOTHING not in run.stdout + run.stderr else "not needed"


@pytest.mark.parametrize("way", ["removed", "one byte, date kept"])
def test_a_result_spoilt_behind_drawn_figures_comes_back_as_told(way: str, copy: Path, undisturbed: Path) -> None:
    """To run again would not help: Snakemake asks for no result behind a figure that is there."""
    packed = ("crate", "run.zip", "scale=smoke", FIGURES, *FEW_OVERRIDES)
    spoilt = the_file(copy, "results/train/*/trajectory.npz")
    WAYS[way](spoilt)
    refused = in_process(*packed, cwd=copy)
    run = few(copy, *done_as_told(error_of(refused), copy))
    assert run.returncode == 0, run.stderr[-3000:]
    assert in_process(*packed, cwd=copy).returncode == 0
    assert few(copy).returncode == 0  # what reads it is made again: its provenance has another date
    assert drawn(copy) == drawn(undisturbed)
    again = few(copy, "--dry-run")
    assert NOTHING in again.stdout + again.stderr  # it comes to an end


# By default a result in a way that Snakemake cannot see; all with -m slow.
SOME = [
    ("results/train/*/trajectory.npz", "one byte, date kept", True),
    pytest.param("results/draw/*-fig05-*/figure.csv", "one byte", False, marks=pytest.mark.slow),
]
ALL = [
    *(("results/draw/*-fig05-*/figure.csv", way, False) for way in WAYS if "kept" not in way and way != "one byte"),
    *((f"results/{pattern}", way, "kept" in way) for pattern in RESULTS for way in WAYS if way != "cut, date kept"),
    *((f"figures/{name}", way, False) for name in SHOWN for way in WAYS if "kept" not in way),
]


@pytest.mark.parametrize(("pattern", "way", "redrawn"), SOME)
def test_a_spoilt_file_is_said_or_redone(pattern: str, way: str, redrawn: bool, copy: Path, undisturbed: Path) -> None:
    spoilt_and_run_again(the_file(copy, pattern), way, redrawn, copy, undisturbed)


def test_a_rule_fails_whose_first_command_fails(copy: Path) -> None:
    """Sees a rule that shows a figure, and ends well, beside a table that it could not remove."""
    (copy / "figures" / PAPER / "theorem1.csv").unlink()
    (copy / "figures" / PAPER / "theorem1.tex").unlink()
    (copy / "figures" / PAPER / "theorem1.tex").mkdir()
    run = few(copy, f"figures/{PAPER}/theorem1.csv")
    assert run.returncode != 0
    assert re.search(r"^rm: .*theorem1\.tex", run.stderr, re.MULTILINE), run.stderr[-3000:]


def test_a_latex_table_that_was_removed_comes_back(copy: Path, undisturbed: Path) -> None:
    table = Path("figures", PAPER, "theorem1.tex")
    (copy / table).unlink()
    again = few(copy)
    assert again.returncode == 0, again.stderr[-3000:]
    assert not re.search(r"\n(?:local)?rule (?!show|audit|all)", again.stdout + again.stderr)
    assert (copy / table).read_bytes() == (undisturbed / table).read_bytes()
    last = few(copy)
    assert NOTHING in last.stdout + last.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "way", "redrawn"), ALL)
def test_every_spoilt_file_is_said_or_redone(
    pattern: str, way: str, redrawn: bool, copy: Path, undisturbed: Path
) -> None:
    what = spoilt_and_run_again(the_file(copy, pattern), way, redrawn, copy, undisturbed)
    print(f"\nSPOILT {pattern} | {way} | figures {'to be redrawn' if redrawn else 'there'} | {what}", flush=True)
