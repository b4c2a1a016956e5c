"""Oracle: both parts of the tutorial, run command by command, and the verdicts that examples/README.md states.

Sees a tutorial or an example that does not work, ends with another paper, or gives other verdicts than it says.
"""

import doctest
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Document, Example
from sybil.parsers.myst import CodeBlockParser

from tests.conftest import CHECKOUT, run_command

EXAMPLES = CHECKOUT / "examples"
PAGES = {"adam": CHECKOUT / "docs" / "tutorial.md", "edge": CHECKOUT / "docs" / "tutorial_torch.md"}
COMPARED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def files(folder: Path, paper: str) -> dict[str, str]:
    """The files of a paper in a folder of papers, by path."""
    places = (folder / paper, folder / "config" / "paper" / paper)
    found = (file for place in places for suffix in ("py", "yaml") for file in place.glob(f"*.{suffix}"))
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in found}


def run_or_write(folder: Path, page: Path) -> Document:
    """A page, whose console blocks run in a folder command by command, and whose other blocks become files."""

    def run(example: Example) -> str | None:
        for block in str(example.parsed).removeprefix("$ ").split("\n$ "):
            command, _, expected = block.partition("\n")
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, check=False, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            found = done.stdout + (f"[exit {done.returncode}]\n" if done.returncode else "")
            if not doctest.OutputChecker().check_output(expected, found, COMPARED):
                return f"{command}\nexpected:\n{expected}\nfound:\n{found[-5000:]}"
        return None

    def write(example: Example) -> None:
        name, _, at_its_end = example.region.lexemes["options"]["caption"].partition(", ")
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("a" if at_its_end else "w", encoding="utf-8") as file:
            file.write(str(example.parsed))

    return Document.parse(
        str(page), CodeBlockParser("console", run), CodeBlockParser("python", write), CodeBlockParser("yaml", write)
    )


@pytest.mark.slow  # three or four runs of the workflow
@pytest.mark.parametrize("paper", PAGES)
@pytest.mark.usefixtures("mnist_config")
def test_the_tutorial_works_and_ends_with_the_example(paper: str, tmp_path: Path) -> None:
    for part in ("Snakefile", "config", "examples", "profiles", "src", "workflow", "data/mnist"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).symlink_to(CHECKOUT / part)
    for example in run_or_write(tmp_path, PAGES[paper]).examples():
        example.evaluate()
    assert files(tmp_path / "papers", paper) == files(EXAMPLES, paper)
    audit = json.loads((tmp_path / "figures" / "audit.json").read_text(encoding="utf-8"))
    (claims,) = (each["claims"] for each in audit["papers"] if each["id"] == paper)
    assert len(claims) == 4
    assert not [claim["id"] for claim in claims if claim["verdict"] == "not run"]


def test_the_files_of_the_tutorial_are_those_of_the_example(tmp_path: Path) -> None:
    """Of part one; part two reads the example itself."""
    (tmp_path / "examples").symlink_to(EXAMPLES)
    for example in run_or_write(tmp_path, PAGES["adam"]).examples():
        if "caption" in (example.region.lexemes.get("options") or {}) or str(example.parsed).startswith("$ cp "):
            example.evaluate()
    written, empty = files(tmp_path / "papers", "adam"), "adam/__init__.py"
    assert written | {empty: files(EXAMPLES, "adam")[empty]} == files(EXAMPLES, "adam")


BARE = """
import sys
sys.modules |= dict.fromkeys(("torch", "torchvision", "residual"))  # importing them raises ImportError
"""


def test_the_engine_without_torch_and_without_residual_gives_the_verdicts_that_the_examples_readme_says(
    tmp_path: Path,
) -> None:
    """Sees a module of the engine that needs a paper of this repository or torch where a paper does not."""
    for part in ("Snakefile", "config", "profiles", "src", "workflow"):
        copied = shutil.copytree if (CHECKOUT / part).is_dir() else shutil.copy
        copied(CHECKOUT / part, tmp_path / part)
    shutil.rmtree(tmp_path / "src" / "residual")
    for paper in (tmp_path / "config" / "paper").iterdir():
        shutil.rmtree(paper)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "sitecustomize.py").write_text(BARE, encoding="utf-8")
    run = run_command(
        "snakemake", "--cores", "1", "--config", f"papers_path={EXAMPLES}", "figures=[adam]", cwd=tmp_path,
        environment={"PYTHONPATH": f"{tmp_path / 'bare'}{os.pathsep}{tmp_path / 'src'}"}, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    audit = json.loads((tmp_path / "figures" / "audit.json").read_text(encoding="utf-8"))
    (paper,) = (paper for paper in audit["papers"] if paper["id"] == "adam")
    assert {claim["id"]: claim["verdict"] for claim in paper["claims"]} == {
        "adam/unbiased-second-moment": "supported", "adam/scale-free-steps": "supported",
        "adam/adagrad-limit": "supported", "adam/vanishing-regret": "contradicted",
    }  # fmt: skip
