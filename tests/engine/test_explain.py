"""What `resaudit explain` says. Oracle: the configuration. Sees keys that nobody can set and long lines."""

import re
import shlex
from pathlib import Path

import pytest

from resaudit.audit.terminal import explain_claim
from resaudit.base.errors import ConfigError, MachineError, one_named
from resaudit.base.papers import add_papers
from resaudit.cli import explain
from resaudit.plan.claim import checks_by_name
from resaudit.plan.composition import load
from resaudit.plan.models import Layout
from resaudit.plan.plan import make_plan
from tests.conftest import CHECKOUT, in_process
from tests.refusals import refused

PAPER, COMMITTED = "demystifying_resnet", "paths.figures=figures/reference"


def explained(figure: str, *overrides: str) -> list[str]:
    name = f"{PAPER}/{figure}"
    config = load([*overrides, f"figures=[{name}]"])
    return list(explain.explain_figure(make_plan(config), load(["scale=paper"], only=[name]).figure[name], name))


# Another paper has a Figure 6 too, so its full name is given.
@pytest.mark.parametrize("figure", ["fig04_deep", "fig06", "theorem1", "fig02"])
def test_a_figures_settings_are_overrides_that_change_nothing(figure: str) -> None:
    text = "\n".join(explained(figure)).split("settings at scale")[1].split("differs from")[0]
    key = f"figure.{PAPER}.fig06" if figure == "fig06" else figure
    given = [word for word in shlex.split(text.partition("\n")[2]) if word.startswith(f"{key}.") and "=" in word]
    assert len(given) > 5
    name = f"{PAPER}/{figure}"
    assert load(given, only=[name]).figure[name] == load(only=[name]).figure[name]
    assert load([*given, "scale=smoke"], only=[name]).figure[name] == load(only=[name]).figure[name]


def test_only_what_is_to_be_pasted_has_long_lines() -> None:
    lines = "\n".join(explained("fig07")).splitlines()
    assert max(len(line) for line in lines if "=" not in line) <= 120


@pytest.mark.parametrize("name", ["shortcut_importance/table1", "stable_scaling/training"])
def test_a_reconstructed_figure_is_said_to_be_one(name: str) -> None:
    config = load([f"figures=[{name}]"])
    of_paper = load(["scale=paper"], only=[name]).figure[name]
    said = " ".join("\n".join(explain.explain_figure(make_plan(config), of_paper, name)).split())
    assert of_paper.remark
    assert of_paper.remark in said
    assert "paper's protocol" not in said


def test_no_command_draws_into_the_folder_of_the_committed_tables() -> None:
    said = in_process("audit", "--claim", "theorem-1-construction", COMMITTED, cwd=CHECKOUT).stdout
    assert COMMITTED not in said.partition("reproduce with")[2]
    with refused(MachineError, "reference", "paths.figures"):
        Layout(load([COMMITTED]).paths).check_writable("figures")


def test_a_theorem_is_explained_with_its_job() -> None:
    lines = "\n".join(explained("theorem1"))
    assert "  theorem/theorem-1-" in lines
    assert "results/KIND/ID" in lines
    assert "train/" not in lines


def test_a_figure_and_its_claim_say_by_which_command_and_with_what_they_are_checked() -> None:
    overrides = ("paths.results=none", "theorem1.runs=2")
    claim = explain_claim(make_plan(load(overrides)), overrides, f"{PAPER}/theorem-1-construction")
    name = f"{PAPER}/theorem1"
    plan = make_plan(load([*overrides, f"figures=[{name}]"]))
    figure = explain.explain_figure(plan, load(["scale=paper"], only=[name]).figure[name], name, overrides)
    for lines in map(list, (claim, figure)):
        said = " ".join("\n".join(lines).split())
        assert f"snakemake --cores all --config 'figures=[{name}]' 'overrides=[{','.join(overrides)}]'" in said
        # The raw images are the disk that the plan knows.
        assert re.search(r"of one core, [\d.]+ GB of memory for the largest job, at least 55\.0 MB of disk", said)


@pytest.mark.usefixtures("no_paper_stays")
def test_the_papers_plain_page_is_named_where_there_is_one() -> None:
    (page,) = (line.strip() for line in explained("fig07") if line.endswith("plain.py"))
    assert "def network(" in Path(page).read_text(encoding="utf-8")
    add_papers(CHECKOUT / "examples")
    config = load(["figures=[adam]"])
    name = next(iter(make_plan(config).figures))
    assert "plain.py" not in "".join(explain.explain_figure(make_plan(config), config.figure[name], name))


def test_a_gpu_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "torch finds no CUDA device here"
    monkeypatch.setattr(explain, "cuda_is_usable", lambda: False)
    assert any(said in line for line in explained("fig08", "device=cuda"))
    assert not any(said in line for line in explained("fig07", "device=cuda"))
    monkeypatch.setattr(explain, "cuda_is_usable", lambda: True)
    assert not any(said in line for line in explained("fig08", "device=cuda"))


def test_a_claim_is_explained_by_keys_that_can_be_set(tmp_path: Path) -> None:
    overrides = (f"paths.figures={tmp_path}",)
    lines = list(explain_claim(make_plan(load(overrides)), overrides, f"{PAPER}/depth-invariant-condition"))
    assert lines[0].startswith(f"{PAPER}/depth-invariant-condition: ")
    keys = [word for line in lines if "claims." in line for word in shlex.split(line)]
    assert f"claims.{PAPER}.depth-invariant-condition.checks.constant.within_factor=1.1" in keys
    assert load(keys).claims == load().claims
    assert any("variant=not-centred" in line for line in lines)


def test_every_check_is_listed_with_parameters_and_claims() -> None:
    lines = "\n".join(explain.explain_checks(load()))
    every = dict(re.findall(r"^(\w+): ((?:.+\n?)+)", lines, re.MULTILINE))
    assert every.keys() == checks_by_name().keys()
    ratio = every["ratio_across_depths"]
    assert "reference: Literal['first', 'previous'] = first; " in ratio
    used = ratio.split("used by: ")[1].replace(",", " ").split()
    assert {f"{PAPER}/depth-invariant-condition", f"{PAPER}/weights-shrink-with-depth-mlp"} <= set(used)
    named = "\n".join(explain.explain_checks(load(), ["ratio_across_depths"]))
    assert re.findall(r"^(\w+): ", named, re.MULTILINE) == ["ratio_across_depths"]


def test_the_whole_run_says_what_is_done_and_what_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = make_plan(load(["figures=[theorem1,theorem2]"]))
    before = "\n".join(explain.explain_run(plan, []))
    assert "jobs: 7: 1 fetch, 1 whiten, 2 theorem, 2 draw, 1 audit" in before
    whiten = next(job for job in plan.jobs.values() if job.kind == "whiten")
    for file in whiten.written(Path("results")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    after = "\n".join(explain.explain_run(plan, []))
    assert ("done: 0," in before, "done: 1," in after) == (True, True)


def test_a_papers_name_stands_for_its_figures(tmp_path: Path) -> None:
    said = in_process("explain", "shortcut_importance", cwd=tmp_path)
    assert said.returncode == 0
    chosen = "\n".join(explain.explain_run(make_plan(load(["figures=[shortcut_importance]"])), []))
    count = re.search(r"jobs: (\d+)", chosen)
    assert count
    assert count[0] in said.stdout
    other = in_process("explain", "of_my_own", cwd=tmp_path)
    assert "papers_path=" in other.stderr


def test_a_name_is_found_by_its_beginning_and_near_names_are_suggested() -> None:
    known = ["p/fig04", "p/fig04_deep", "p/relu-final-loss", "p/relu-stuck"]
    assert one_named("claim", "fig04", known) == "p/fig04"
    assert one_named("claim", "relu-f", known) == "p/relu-final-loss"
    with refused(ConfigError, "claim", "relu", ["p/relu-final-loss", "p/relu-stuck"]):
        one_named("claim", "relu", known)
    for name, suggested in [("fig4", ["p/fig04"]), ("zzz", known)]:
        with refused(ConfigError, "claim", name) as caught:
            one_named("claim", name, known)
        assert [other for other in known if re.search(rf"{other}\b(?!_)", str(caught.value))] == suggested
