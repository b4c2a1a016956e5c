"""Commands that are printed. Oracle: bash, and Snakemake's and our own readers, which are given what was printed.

Sees names and values that a shell, YAML or Hydra takes for something else, and names that several papers have.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
from snakemake.cli import parse_config

from resaudit.audit.terminal import explain_claim
from resaudit.base.commands import papers_path, snakemake_command
from resaudit.base.errors import least_name
from resaudit.base.papers import KEY, add_papers, outside_papers
from resaudit.cli.commands import _names_and_overrides
from resaudit.cli.skeleton import write_paper
from resaudit.cli.workflow import overrides_from
from resaudit.plan.composition import load
from resaudit.plan.estimates import left_out_in_words
from resaudit.plan.plan import make_plan
from resaudit.plan.words import claims_command, command_for
from tests.audit import example
from tests.audit.example import render
from tests.conftest import CHECKOUT, Command, forget_papers, in_process
from tests.refusals import assert_exits

pytestmark = pytest.mark.usefixtures("no_paper_stays")
ODD = [
    "x y", "it's", 'q"q', "a#b", "a #b", "[x]", "{a: b}", "a: b", "a:", "a,b", "a=b", "~", "~x", "$HOME", "`x`", "a*",
    "-x", "b\\s", "!x", "2024_05", "1e5", "nan", "True", "null", "ümlaut", "tab\tline\n", "\u2028", "😀",
]  # fmt: skip
OVERRIDES = [
    "scale=smoke", "seed=2", "paths.data=\"it's [here]\"", "paths.results='über~x'", "paths.figures='a#b, c'",
    "figure.demystifying_resnet.fig07.protocol.depths=[2, 4]",
]  # fmt: skip


def in_bash(command: str) -> list[str]:
    """The words of a command as a shell hands them on."""
    ran = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\0")[:-1] == shlex.split(command)
    return shlex.split(command)


def configured_by(command: str) -> list[str]:
    """The overrides that the Snakefile gets from a printed command."""
    assert len(command.splitlines()) == 1
    words = in_bash(command)
    assert words[words.index("snakemake") :][:3] == ["snakemake", "--cores", "all"]
    return overrides_from(parse_config(words[words.index("--config") + 1 :]) if "--config" in words else {})


@pytest.mark.parametrize("odd", ODD)
def test_any_text_comes_back_from_a_command(odd: str) -> None:
    assert configured_by(snakemake_command({"overrides": [f"paths.data={odd}", odd, "seed=2"]})) == [
        f"paths.data={odd}", odd, "seed=2",
    ]  # fmt: skip
    assert configured_by(snakemake_command({"key": odd})) == [f"key={odd}"]


def test_the_command_for_left_out_figures_draws_them_with_the_same_settings() -> None:
    what, how = left_out_in_words(load([*OVERRIDES, "figures=[stable_scaling]"]), OVERRIDES)
    names = re.findall(r"\w+/\w+", what)
    assert "stable_scaling/fig06" in names
    there = load(configured_by(how[how.index("snakemake ") :]))
    assert list(there.chosen_figures()) == names
    assert there == load([*OVERRIDES, f"figures=[{','.join(names)}]"])


@pytest.mark.parametrize("odd", [odd for odd in ODD if "\n" not in odd])
def test_a_new_papers_command_finds_it_in_any_folder(odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execvp", lambda *_: None)  # this process is to stay
    ran = in_process("new", "paper", "coins", f"--into={odd}", cwd=tmp_path)
    program, *words = in_bash(ran.stdout.strip().split("\n")[-1].removeprefix("next: "))
    drawn = in_process(*words, cwd=tmp_path)
    assert (program, drawn.returncode, drawn.stderr) == ("resaudit", 0, "")
    forget_papers()
    assert configured_by(drawn.stdout.removesuffix("\n")) == ["figures=[coins]"]
    assert [(name, place.folder) for name, place in outside_papers().items()] == [("coins", tmp_path / odd)]
    assert list(load(only=["coins/fig01"]).figure) == ["coins/fig01"]
    forget_papers()


def test_drawing_hands_on_to_snakemake_what_it_does_not_read_itself(resaudit: Command) -> None:
    run = resaudit("draw", "robustness", "shortcut_importance", "scale=smoke", "seed=2", "--", "-n", "--quiet", "all")
    command = run.stdout.split("\n")[0]
    assert configured_by(command) == ["scale=smoke", "figures=[shortcut_importance]", "seed=2"]
    assert shlex.split(command)[3:] == [
        "robustness", "--snakefile", str(CHECKOUT / "Snakefile"), "-n", "--quiet", "all", "--config", "scale=smoke",
        "figures=[shortcut_importance]", "overrides=[seed=2]",
    ]  # fmt: skip
    assert run.returncode == 0, run.stderr


def test_papers_outside_are_part_of_what_a_terminal_prints(tmp_path: Path) -> None:
    """Wherever the figure stands in the list."""
    write_paper("coins", folder := tmp_path / "it's #1")
    add_papers(folder)
    config = load([f"paths.figures={tmp_path}"])
    command = command_for(["demystifying_resnet/fig06", "coins/fig01"], ["seed=2"], [f"{KEY}={folder}"])
    (claim,) = (
        line for line in explain_claim(make_plan(config), (), "coins/law-of-large-numbers") if "explained: " in line
    )
    elsewhere = command_for(["demystifying_resnet/fig06", "coins/fig01"], [])
    forget_papers()
    assert configured_by(command) == ["figures=[demystifying_resnet/fig06,coins/fig01]", "seed=2"]
    assert set(outside_papers()) == {"coins"}
    forget_papers()
    assert f"{KEY}=FOLDER" in shlex.split(elsewhere)
    said = in_process(*in_bash(claim.split(": ", 1)[1])[1:], cwd=CHECKOUT)
    assert said.stdout.startswith("coins/fig01: ")


def explained() -> Iterator[tuple[str, str]]:
    """Of each paper, a claim on a figure whose short name several papers have, and the figure."""
    config = load()
    for paper, claims in config.claims.items():
        found = {f"{paper}/{claim.evidence}": f"{paper}/{name}" for name, claim in claims.items()}
        shared = [(claim, figure) for figure, claim in found.items() if "/" in least_name(figure, config.figure)]
        yield from shared[:1]


def test_explain_prints_commands_that_can_be_run() -> None:
    given, claims = ("scale=smoke", "paths.data='über x'"), dict(explained())
    assert len(claims) > 1
    for claim, figure in claims.items():
        lines = in_process("explain", claim, *given, cwd=CHECKOUT).stdout.splitlines()
        parts = [line.strip().partition(": resaudit ") for line in lines]
        explain = in_bash(next(words for name, _, words in parts if name == "explained"))
        assert in_process(*explain, cwd=CHECKOUT).stdout.startswith(f"{figure}: ")
        assert _names_and_overrides(tuple(explain)) == (("explain", figure), given)
        assert any(line.startswith(f"figure {figure}: ") for line in lines)


def test_the_pages_commands_have_the_runs_overrides(tmp_path: Path) -> None:
    example.draw(tmp_path)
    audit = example.audit(tmp_path) | {"overrides": OVERRIDES}
    for paper in audit["papers"]:
        paper["robustness"] = None
        paper["claims"] = [claim | {"variants": []} for claim in paper["claims"]]
        paper["ledger"]["command"] = claims_command(paper["id"], OVERRIDES)
    commands = [unescape(text) for text in re.findall(r'data-copy="([^"]*)"', render(audit, tmp_path))]
    robustness = [command for command in commands if " robustness" in command]
    assert robustness
    assert all(configured_by(command) == OVERRIDES for command in robustness)


def test_the_audits_command_has_its_figure_in_full() -> None:
    for figure in ("demystifying_resnet/fig06", "stable_scaling/fig06"):
        overrides = configured_by(command_for([figure], ["figures=fig07", *OVERRIDES]))
        assert list(load(overrides).chosen_figures()) == [figure]
        assert [each for each in overrides if not each.startswith("figures=")] == OVERRIDES


def test_a_rule_is_a_figure_in_full_or_in_short_where_one_paper_has_it(snakemake: Command) -> None:
    dry = snakemake("-n", "demystifying_resnet/fig06", "fig07", "--config", "scale=smoke")
    assert dry.returncode == 0, dry.stderr
    ambiguous = snakemake("-n", "fig06", "--config", "scale=smoke", "figures=[demystifying_resnet/fig06]")
    assert_exits(ambiguous, "demystifying_resnet/fig06, stable_scaling/fig06")


def test_a_reader_that_has_read_enough_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` does after its lines
    try:
        ended = subprocess.run(["resaudit", "list"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_a_folder_that_begins_with_a_tilde_is_not_the_home() -> None:
    assert papers_path("~") == "./~"
    assert papers_path("papers") == "papers"
