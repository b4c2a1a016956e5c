"""Oracle: examples/, added to this process. Sees papers outside that are not found, and names that shadow others."""

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from resaudit.base import papers as outside
from resaudit.base.errors import ResauditError
from resaudit.base.papers import add_papers, take_papers_path
from resaudit.cli.skeleton import write_paper
from resaudit.cli.workflow import check_modules, overrides_from
from resaudit.figures.drawing import DrawnAt, draw
from resaudit.figures.tables import errors_naming
from resaudit.jobs import code
from resaudit.jobs.code import closure
from resaudit.jobs.job import Execution
from resaudit.jobs.plan_files import computing_kinds, kind_named, plan_file, write_job
from resaudit.plan.composition import config_folder, load
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, assert_refused, run_planned

CLAIMS = "config/paper/adam/claims.yaml"


def forget_papers() -> None:
    for paper in outside.outside_papers():
        for name in [name for name in sys.modules if name.split(".")[0] == paper]:
            del sys.modules[name]
    outside._added.clear()
    importlib.invalidate_caches()


@pytest.fixture(autouse=True)
def no_papers_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has a process without papers outside."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(code, "_graph", cache(code._graph.__wrapped__))
    yield
    forget_papers()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the examples."""
    return Path(
        shutil.copytree(CHECKOUT / "examples", tmp_path / "papers", ignore=shutil.ignore_patterns("__pycache__"))
    )


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """The configuration without this repository's papers, which take seconds to compose."""
    return Path(shutil.copytree(config_folder(), tmp_path / "config", ignore=shutil.ignore_patterns("paper")))


def composed(papers: Path, bare: Path) -> Config:
    add_papers(papers)
    return load(folder=bare)


def test_a_paper_outside_is_composed_planned_and_its_kind_found(folder: Path, bare: Path) -> None:
    config = composed(folder, bare)
    assert list(config.figure) == ["adam/moments", "adam/regret"]
    assert list(config.claims) == ["adam"]
    plan = make_plan(config)
    check_modules(plan)
    assert {job.kind for job in plan.jobs.values()} == {"descend"}
    assert len(plan.jobs) == 6
    assert "descend" in computing_kinds()
    assert kind_named("descend").__module__ == "adam.jobs"
    assert set(config.model_copy(update={"figures": ["adam"]}).chosen_figures()) == set(config.figure)


@pytest.mark.parametrize("name", ["./~x", "ü a'b{c}#=,", 'a"b', "a\\"])
def test_folder_of_papers_may_have_any_name(
    name: str, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CHECKOUT / "examples", tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert take_papers_path([f"papers_path={name}"]) == []
    assert "adam/regret" in load(["scale=smoke"], bare, only=["adam/regret"]).figure


def test_nothing_planned_names_the_folder(folder: Path, bare: Path, tmp_path: Path) -> None:
    config = composed(folder, bare)
    assert str(folder) not in config.model_dump_json()
    for job in make_plan(config).jobs.values():
        write_job(job, Execution(), tmp_path)
        assert str(folder) not in plan_file(tmp_path, job.key).read_text(encoding="utf-8")


def test_the_hash_of_the_code_covers_the_package(folder: Path, bare: Path) -> None:
    composed(folder, bare)
    assert {"adam", "adam.jobs", "adam.experiments", "resaudit.jobs.simulation"} <= closure("adam.experiments")
    assert "adam.moments" not in closure("adam.experiments")


def test_papers_path_is_taken_out_of_the_overrides(folder: Path) -> None:
    assert overrides_from({"scale": "smoke", "papers_path": str(folder)}) == ["scale=smoke"]
    assert take_papers_path(["list", f"papers_path={folder}"]) == ["list"]
    assert outside.outside_papers() == {"adam": folder}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("random", "random.py has this name"),
        ("numpy", "has this name"),
        ("identity_matters", "has this name"),
        ("my-paper", "write small letters"),
        ("übung", "write small letters a to z"),
        ("class", "write small letters"),
    ],
)
def test_names_that_shadow_or_cannot_be_imported_are_refused(name: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "config" / "paper" / name).mkdir(parents=True)
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    before = list(sys.path)
    for refused in (lambda: add_papers(tmp_path), lambda: write_paper(name, tmp_path / "new")):
        with pytest.raises(ResauditError) as error:
            refused()
        assert said in str(error.value)
    assert sys.path == before
    assert not (tmp_path / "new").exists()
    assert not outside.outside_papers()


def test_a_folder_that_is_no_folder_of_papers_is_refused(tmp_path: Path) -> None:
    assert_refused(add_papers, tmp_path / "none", message="none is no folder; 'resaudit new paper NAME")  # type: ignore[arg-type]
    assert_refused(add_papers, tmp_path, message="holds no config/paper/NAME")  # type: ignore[arg-type]
    (tmp_path / "config" / "paper" / "coins").mkdir(parents=True)
    assert_refused(add_papers, tmp_path, message="coins/__init__.py (it may be empty)")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("config/paper/adam/moments.yaml", "experiment: streams", "experiment: stream", "class Name(Experiment, name="),
        (
            "config/paper/adam/moments.yaml",
            "beta1: 0.9",
            "beta: 0.9",
            "protocol has an unknown key 'beta'; did you mean",
        ),
        (CLAIMS, "evidence: moments", "evidence: moment", "'moment', which is no figure; allowed: moments, regret"),
        (CLAIMS, "  statement: Division", "  #", "unbiased-second-moment.statement is missing; give it"),
        (CLAIMS, "check: mean_of_runs", "check: mean_of_run", "check is 'mean_of_run'; allowed: "),
        (
            CLAIMS,
            "column: value",
            "column: moment",
            "'moment', which adam/moments has not; allowed: property, run, scale, ",
        ),
        (
            CLAIMS,
            "check: magnitude, properties: [change by rescaling]",
            "check: end_ratio, network: a, other: b, column: value",
            "same: end_ratio reads the columns network, depth, learning_rate, which adam/moments has not; a figure",
        ),
        (CLAIMS, ", within_factor: 1.2", "", "has no threshold; give at_least"),
        (CLAIMS, "  where: section 3", "where: section 3", "claims.yaml"),
        ("adam/jobs.py", "import numpy", "import numpi", "jobs.py cannot be imported: ModuleNotFoundError in line 5"),
        ("adam/jobs.py", "    gradients: ", "    gradients ", "jobs.py cannot be imported: invalid syntax in line"),
        ("adam/experiments.py", "def jobs(", "def job(", "TypeError in line 9: Streams has no function jobs(self, "),
        ("adam/experiments.py", "self.runs, seed)", "seed)", "experiments.py cannot list the jobs of adam/moments: "),
        ("adam/experiments.py", "return {", "{", "experiments.py: jobs returns NoneType, not a dict; let it return"),
        ("adam/jobs.py", '"descend"', '"train"', "a kind of job 'train' exists; give yours another name"),
    ],
)
def test_a_newcomers_slips_get_one_line_that_says_what_to_do(
    file: str, old: str, new: str, said: str, folder: Path, bare: Path
) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    def all_of_it() -> None:
        make_plan(composed(folder, bare))
        computing_kinds()

    assert_refused(all_of_it, message=said)


def test_a_figure_without_a_module_is_refused_before_any_job(folder: Path, bare: Path) -> None:
    (folder / "adam" / "regret.py").unlink()
    plan = make_plan(composed(folder, bare))
    said = f"{folder}/config/paper/adam/regret.yaml has no module {folder}/adam/regret.py; write it"
    assert_refused(lambda: check_modules(plan), message=said)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    return figure", "", "fig01.py: plot returns NoneType, not a Figure of matplotlib; let it return one"),
        ("    return pd.concat", "    pd.concat", "fig01.py: table returns NoneType, not a DataFrame of pandas; let"),
        ("def plot(", "def plots(", "fig01.py has no function plot; write one that returns a Figure of matplotlib"),
        ('"heads").reset', '"head").reset', "fig01.py: table(results) gives no column heads, only bias, run, head;"),
    ],
)
def test_a_module_that_gives_something_else_is_named_when_it_draws(
    old: str, new: str, said: str, tmp_path: Path, bare: Path
) -> None:
    papers, results = tmp_path / "papers", tmp_path / "results"
    module = write_paper("coins", papers)[-2]
    text = module.read_text(encoding="utf-8")
    assert old in text
    module.write_text(text.replace(old, new), encoding="utf-8")
    part = make_plan(composed(papers, bare)).figures["coins/fig01"]
    for job in part.jobs.values():
        run_planned(job, results)
    assert_refused(lambda: draw(part, DrawnAt("laptop", (), ()), results, tmp_path, ""), message=said)
    assert not (tmp_path / "figure.json").exists()


def test_errors_about_a_table_name_the_module_that_makes_it() -> None:
    with pytest.raises(ResauditError) as error, errors_naming("table of fig07", "demystifying_resnet/fig07"):
        raise ResauditError("column error is missing")
    module = "residual.demystifying_resnet.fig07"
    assert str(error.value) == (
        f"table of fig07: column error is missing; table(results) in {module} makes it: correct that, "
        "then draw the figure again"
    )


def test_a_skeleton_is_a_paper_and_is_never_written_over(tmp_path: Path, bare: Path) -> None:
    files = write_paper("coins", tmp_path / "mine")
    assert all(file.is_file() for file in files)
    config = composed(tmp_path / "mine", bare)
    check_modules(make_plan(config))
    assert json.loads(config.model_dump_json())["claims"]["coins"]
    forget_papers()
    assert_refused(lambda: write_paper("coins", tmp_path / "mine"), message="exists; choose another name")
    assert sorted((tmp_path / "mine").iterdir()) == [tmp_path / "mine" / "coins", tmp_path / "mine" / "config"]
