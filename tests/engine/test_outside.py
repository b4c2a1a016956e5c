"""Oracle: examples/, added to this process. Sees papers outside that are not found, and names that shadow others."""

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from resaudit.base import papers as outside
from resaudit.base.errors import ConfigError, PaperError, ResauditError
from resaudit.base.papers import add_papers, take_papers_path
from resaudit.cli.skeleton import write_paper
from resaudit.cli.workflow import check_modules, overrides_from
from resaudit.figures.draw import Draw
from resaudit.figures.drawing import draw, figure_module
from resaudit.figures.tables import errors_naming
from resaudit.jobs import code
from resaudit.jobs.code import check_imports, closure, code_sha256
from resaudit.jobs.job import Execution
from resaudit.jobs.plan_files import computing_kinds, kind_named, plan_file, write_job
from resaudit.plan.composition import config_folder, load
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan, plan_figure
from resaudit.share.crate import _outside as papers_in_crate
from tests.conftest import CHECKOUT, forget_papers, in_process, run_planned
from tests.refusals import assert_exits, refused

CLAIMS = "config/paper/adam/claims.yaml"
MOMENTS = "config/paper/adam/moments.yaml"
LEFT_OUT = shutil.ignore_patterns("__pycache__", "edge")
"""The other example: a process can import its check from one folder alone."""

pytestmark = pytest.mark.usefixtures("no_paper_stays")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of one of the examples."""
    return Path(shutil.copytree(CHECKOUT / "examples", tmp_path / "papers", ignore=LEFT_OUT))


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
    check_modules(plan.figures)
    assert {job.kind for job in plan.jobs.values()} == {"descend"}
    assert len(plan.jobs) == 6
    assert "descend" in computing_kinds()
    assert kind_named("descend").__module__ == "adam.jobs"
    assert set(config.model_copy(update={"figures": ["adam"]}).chosen_figures()) == set(config.figure)


@pytest.mark.parametrize("name", ["./~x", "ü a'b{c}#=,", 'a"b', "a\\"])
def test_folder_of_papers_may_have_any_name(
    name: str, bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CHECKOUT / "examples", tmp_path / name, ignore=LEFT_OUT)
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


def test_a_module_that_does_not_parse_is_said_before_any_rule(folder: Path, bare: Path) -> None:
    composed(folder, bare)
    (folder / "adam" / "regret.py").write_text("def (\n", encoding="utf-8")
    with refused(PaperError, "correct it") as caught:
        check_imports()
    assert str(folder / "adam" / "regret.py") in str(caught.value)


BY_NAME = "import importlib\n\nimportlib.import_module('labelhelp')\n"


@pytest.mark.parametrize(
    ("helper", "importer", "fact"),
    [
        ("labelhelp.py", "import labelhelp\n", "lies beside the package"),
        ("labelhelp.py", "def late():\n    from labelhelp import SIZE\n", "lies beside the package"),
        ("labelhelp.py", BY_NAME, "lies beside the package"),
        ("labelhelp/__init__.py", "import labelhelp\n", "lies beside the package"),
        ("labelhelp/sizes.py", "from labelhelp.sizes import SIZE\n", "lies beside the package"),
        ("adam/labelhelp/sizes.py", "from adam.labelhelp.sizes import SIZE\n", "it may be empty"),
        ("adam/labelhelp/deep/sizes.py", "import adam.labelhelp.deep.sizes\n", "it may be empty"),
    ],
)
def test_what_a_paper_imports_from_its_folder_is_code_or_refused(
    helper: str, importer: str, fact: str, folder: Path, bare: Path
) -> None:
    """Sees a helper module whose edit would leave old results and old figures, and which no crate would hold."""
    for name in [name for name in sys.modules if name.startswith("labelhelp")]:
        del sys.modules[name]
    (folder / helper).parent.mkdir(parents=True, exist_ok=True)
    (folder / helper).write_text("SIZE = 3\n", encoding="utf-8")
    jobs = folder / "adam" / "jobs.py"
    jobs.write_text(jobs.read_text(encoding="utf-8") + importer, encoding="utf-8")
    composed(folder, bare)
    computing_kinds()
    with refused(PaperError, fact) as caught:
        check_imports()
    assert str(folder / helper.partition("labelhelp")[0] / "labelhelp") in str(caught.value)


def test_what_lies_beside_a_paper_and_is_not_imported_may_stay(folder: Path, bare: Path) -> None:
    for file in ("setup.py", "labelhelp/sizes.py", "adam/my-notes/old.py", "adam/.trash/old.py"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text("SIZE = 3\n", encoding="utf-8")
    composed(folder, bare)
    check_imports()


def test_what_a_paper_imports_from_another_is_its_code_and_travels_with_it(tmp_path: Path, bare: Path) -> None:
    for name in ("coins", "dice", "cards"):
        write_paper(name, tmp_path / "papers")
    with (tmp_path / "papers" / "coins" / "jobs.py").open("a", encoding="utf-8") as jobs:
        jobs.write("\nimport dice.experiments\n")
    composed(tmp_path / "papers", bare)
    check_imports()
    assert "dice.jobs" in closure("coins.jobs")
    held = {name.split("/")[1] for name in papers_in_crate({"coins"})}
    assert held == {"coins", "config", "dice"}


def test_a_module_may_begin_with_a_byte_order_mark_and_must_be_utf_8(folder: Path, bare: Path) -> None:
    composed(folder, bare)
    before = code_sha256("adam.jobs", "adam")
    jobs = folder / "adam" / "jobs.py"
    jobs.write_text(jobs.read_text(encoding="utf-8"), encoding="utf-8-sig")
    code._module_sha256.cache_clear()
    assert code_sha256("adam.jobs", "adam") == before
    check_imports()
    (folder / "adam" / "names.py").write_text("# coding: latin-1\nNAME = 'größe'\n", encoding="latin-1")
    with refused(PaperError, "correct it") as caught:
        check_imports()
    assert "names.py" in str(caught.value)


def test_a_kind_of_job_without_files_is_refused(folder: Path, bare: Path) -> None:
    """No rule would make its result."""
    jobs = folder / "adam" / "jobs.py"
    jobs.write_text(jobs.read_text(encoding="utf-8").replace("    result = Stream\n", ""), encoding="utf-8")
    composed(folder, bare)
    with refused(PaperError, "adam", "descend"):
        computing_kinds()


def test_a_kind_of_the_engine_may_be_imported_for_a_field(folder: Path, bare: Path) -> None:
    """It is not one of the paper's own."""
    jobs = folder / "adam" / "jobs.py"
    imported = "import numpy as np\n\nfrom resaudit.data.fetch import Fetch  # noqa: F401\n"
    jobs.write_text(jobs.read_text(encoding="utf-8").replace("import numpy as np\n", imported), encoding="utf-8")
    composed(folder, bare)
    assert kind_named("fetch").__module__ == "resaudit.data.fetch"
    assert computing_kinds().count("fetch") == 0
    assert "descend" in computing_kinds()


def test_papers_path_is_taken_out_of_the_overrides(folder: Path) -> None:
    assert overrides_from({"scale": "smoke", "papers_path": str(folder)}) == ["scale=smoke"]
    assert take_papers_path(["list", f"papers_path={folder}"]) == ["list"]
    assert {name: place.folder for name, place in outside.outside_papers().items()} == {"adam": folder}


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("random", "has this name; choose another"),
        ("numpy", "has this name; choose another"),
        ("identity_matters", "has this name; choose another"),
        ("my-paper", "small letters a to z"),
        ("übung", "small letters a to z"),
        ("class", "small letters a to z"),
        ("a" * 101, "small letters a to z"),
    ],
)
def test_names_that_shadow_or_cannot_be_imported_are_refused(name: str, fact: str, tmp_path: Path) -> None:
    (tmp_path / "config" / "paper" / name).mkdir(parents=True)
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    before = list(sys.path)
    with refused(ConfigError, fact, name):
        add_papers(tmp_path)
    with refused(ConfigError, fact, name):
        write_paper(name, tmp_path / "new")
    assert sys.path == before
    assert not (tmp_path / "new").exists()
    assert not outside.outside_papers()


def test_a_folder_that_is_no_folder_of_papers_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path / "none", tmp_path):
        with refused(ConfigError, folder):
            add_papers(folder)
    (tmp_path / "config" / "paper" / "coins").mkdir(parents=True)
    with refused(PaperError, tmp_path / "coins" / "__init__.py"):
        add_papers(tmp_path)


@pytest.mark.parametrize(
    ("file", "old", "new", "kind", "mentioned"),
    [
        (MOMENTS, "experiment: streams", "experiment: stream", ConfigError, ["'stream'", "streams", "Experiment"]),
        (MOMENTS, "beta1: 0.9", "beta: 0.9", ConfigError, ["protocol", "'beta'", "beta1"]),
        (CLAIMS, "evidence: moments", "evidence: moment", ConfigError, ["'moment'", "moments, regret"]),
        (CLAIMS, "  statement: Division", "  #", ConfigError, ["unbiased-second-moment.statement"]),
        (CLAIMS, "check: mean_of_runs", "check: mean_of_run", ConfigError, ["check", "'mean_of_run'"]),
        (CLAIMS, "column: value", "column: moment", ConfigError, ["'moment'", "adam/moments", "property, run"]),
        (
            CLAIMS,
            "check: magnitude, properties: [change by rescaling]",
            "check: end_ratio, network: a, other: b, column: value",
            ConfigError,
            [".same", "end_ratio", "'network'", "adam/moments"],
        ),
        (CLAIMS, ", within_factor: 1.2", "", ConfigError, ["at_least", "within_factor"]),
        (CLAIMS, "  where: section 3", "where: section 3", ConfigError, ["claims.yaml"]),
        ("adam/jobs.py", "import numpy", "import numpi", PaperError, ["ModuleNotFoundError", "line 5"]),
        ("adam/jobs.py", "import numpy", "raise SystemExit(3)\nimport numpy", PaperError, ["SystemExit", "line 5"]),
        ("adam/experiments.py", "return {", "raise SystemExit; {", PaperError, ["SystemExit", "adam/moments"]),
        ("adam/jobs.py", "    gradients: ", "    gradients ", PaperError, ["syntax", "line "]),
        ("adam/experiments.py", "def jobs(", "def job(", PaperError, ["TypeError", "line 9", "Streams", "jobs("]),
        ("adam/experiments.py", ", seed=seed)", ")", PaperError, ["adam/moments", "'seed'"]),
        ("adam/experiments.py", "return {", "{", PaperError, ["NoneType", "dict"]),
        ("adam/jobs.py", '"descend"', '"train"', PaperError, ["adam", "'train'"]),
    ],
)
def test_a_newcomers_slips_get_one_line_that_says_what_to_do(
    file: str, old: str, new: str, kind: type[ResauditError], mentioned: list[str], folder: Path, bare: Path
) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    with refused(kind) as caught:
        make_plan(composed(folder, bare))
        computing_kinds()
    assert [word for word in mentioned if word not in str(caught.value)] == []
    assert "descend" in old or file.rpartition("/")[2] in str(caught.value)


def test_a_job_whose_code_exits_is_one_line(folder: Path, bare: Path, tmp_path: Path) -> None:
    """Sees a job that fails with an empty log, or is taken for one that succeeded."""
    jobs = folder / "adam" / "jobs.py"
    jobs.write_text(jobs.read_text("utf-8").replace("noise, found", "exit(0); noise, found"), encoding="utf-8")
    job = next(iter(make_plan(composed(folder, bare)).jobs.values()))
    write_job(job, Execution(), tmp_path / "results")
    run = in_process("run", job.key, f"papers_path={folder}", cwd=tmp_path)
    assert run.returncode == 1
    assert f"resaudit: error: {jobs} " in run.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("file", "old"), [("jobs.py", "import numpy"), ("experiments.py", "return {"), ("checks.py", "")]
)
def test_code_that_ends_the_process_ends_it_in_one_line(file: str, old: str, folder: Path, tmp_path: Path) -> None:
    module = folder / "adam" / file
    text = module.read_text(encoding="utf-8") if module.exists() else ""
    module.write_text(text.replace(old, f"raise SystemExit\n{old}", 1), encoding="utf-8")
    ended = in_process("explain", "adam/moments", f"papers_path={folder}", cwd=tmp_path)
    assert_exits(ended, module)


def test_of_a_figure_that_lists_no_columns_any_can_be_read(folder: Path, bare: Path) -> None:
    moments = folder / MOMENTS
    text = moments.read_text(encoding="utf-8")
    assert "\nkeys: " in text
    moments.write_text(text[: text.index("\nkeys: ") + 1], encoding="utf-8")
    claims = composed(folder, bare).claims_of("adam")
    assert claims["unbiased-second-moment"].checks["unbiased"].columns


def test_a_figure_without_a_module_is_refused_before_any_job(folder: Path, bare: Path) -> None:
    (folder / "adam" / "regret.py").unlink()
    plan = make_plan(composed(folder, bare))
    path, module = folder / "config/paper/adam/regret.yaml", folder / "adam/regret.py"
    with refused(PaperError, path, module):
        check_modules(plan.figures)


@pytest.mark.parametrize("command", ["list", "explain"])
@pytest.mark.parametrize(
    ("old", "new", "fact"),
    [
        ("def plot(", "def plots(", "regret.py has no plot"),
        ("def table(", "tables = 1\n\n\ndef _table(", "regret.py has no table"),
        ('"descend"', '"train"', "'train'"),
    ],
)
def test_what_only_drawing_would_meet_is_found_by(
    command: str, old: str, new: str, fact: str, folder: Path, tmp_path: Path
) -> None:
    file = folder / ("adam/jobs.py" if "train" in new else "adam/regret.py")
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert_exits(
        in_process(command, *["adam/regret"] * (command == "explain"), f"papers_path={folder}", cwd=tmp_path), fact
    )


@pytest.mark.parametrize("name", ["audit", "train", "descend"])
def test_a_figure_with_the_name_of_a_rule_is_refused_before_any_job(name: str, folder: Path, bare: Path) -> None:
    """Of a kind of job it is too, from wherever the kind comes."""
    for file in (folder / "config/paper/adam/regret.yaml", folder / "adam/regret.py"):
        file.rename(file.with_stem(name))
    claims = folder / CLAIMS
    text = claims.read_text(encoding="utf-8")
    claims.write_text(text.replace("evidence: regret", f"evidence: {name}"), encoding="utf-8")
    plan = make_plan(composed(folder, bare))
    with refused(ConfigError, f"adam/{name}"):
        check_modules(plan.figures)


def test_a_figure_of_a_paper_that_cannot_be_imported_is_refused_before_any_job(folder: Path, bare: Path) -> None:
    """Its module would lie where those of the checkout's papers do."""
    plan = make_plan(composed(folder, bare))
    lost = replace(plan, figures={"lost/fig01": plan.figures["adam/regret"]})
    with refused(PaperError, Path("src/lost/fig01.py"), Path("config/paper/lost/fig01.yaml")):
        check_modules(lost.figures)


@pytest.mark.parametrize(
    ("old", "new", "mentioned"),
    [
        ("    return figure", "", ["plot", "NoneType", "Figure"]),
        ("    return pd.concat", "    pd.concat", ["table", "NoneType", "DataFrame"]),
        ("def plot(", "def plots(", ["plot", "Figure"]),
        ('"heads").reset', '"head").reset', ["table(results)", "heads", "bias, run, head"]),
    ],
)
def test_a_module_that_gives_something_else_is_named_when_it_draws(
    old: str, new: str, mentioned: list[str], tmp_path: Path, bare: Path
) -> None:
    papers, results = tmp_path / "papers", tmp_path / "results"
    module = write_paper("coins", papers)[-2]
    text = module.read_text(encoding="utf-8")
    assert old in text
    module.write_text(text.replace(old, new), encoding="utf-8")
    part = make_plan(composed(papers, bare)).figures["coins/fig01"]
    for job in part.jobs.values():
        run_planned(job, results)
    with pytest.raises(ResauditError) as caught:
        draw(Draw(part.figure, (), (), "", "data"), results, tmp_path, "")
    assert [word for word in ("fig01.py", *mentioned) if word not in str(caught.value)] == []
    assert not (tmp_path / "figure.json").exists()


def test_errors_about_a_table_name_the_module_that_makes_it() -> None:
    with pytest.raises(ResauditError) as error, errors_naming("table of fig07", "demystifying_resnet/fig07"):
        raise ResauditError("the fault")
    for word in ("table of fig07", "the fault", "residual.demystifying_resnet.fig07"):
        assert word in str(error.value)


def test_a_skeleton_is_a_paper_and_is_never_written_over(tmp_path: Path, bare: Path) -> None:
    files = write_paper("coins", tmp_path / "mine")
    assert all(file.is_file() for file in files)
    config = composed(tmp_path / "mine", bare)
    check_modules(make_plan(config).figures)
    assert json.loads(config.model_dump_json())["claims"]["coins"]
    forget_papers()
    with refused(ConfigError, tmp_path / "mine" / "config" / "paper" / "coins"):
        write_paper("coins", tmp_path / "mine")
    assert sorted((tmp_path / "mine").iterdir()) == [tmp_path / "mine" / "coins", tmp_path / "mine" / "config"]


def test_the_other_example_gives_each_sharpness_the_step_at_which_it_is_recorded(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the last span is shorter than the others."""
    without = shutil.ignore_patterns("__pycache__", "adam")
    add_papers(Path(shutil.copytree(CHECKOUT / "examples", tmp_path / "papers", ignore=without)))
    figure = load(["sharpness.steps=100", "sharpness.every=30"], folder=bare).figure["edge/sharpness"]
    jobs = plan_figure(figure, "data").jobs
    (kind,) = {type(job) for job in jobs.values()}

    def made(job: Any, _: Path) -> SimpleNamespace:
        losses = np.arange(100.0 * job.runs).reshape(100, job.runs)
        return SimpleNamespace(losses=losses, sharpness=losses[::30])

    monkeypatch.setattr(kind, "read", made)
    table = figure_module(figure.name).table(figure.protocol.read(jobs, Path())).set_index(figure.keys)["value"]
    sharpness, losses = table["sharpness"], table["loss"]
    assert sorted(set(sharpness.index.get_level_values("step"))) == [0, 30, 60, 90]
    rates = sharpness.index.get_level_values("learning_rate")
    assert (sharpness == losses[sharpness.index] * rates / 2).all()
