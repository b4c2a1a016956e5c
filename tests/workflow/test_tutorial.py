"""Oracle: docs/tutorial.md, run command by command, and the verdicts that examples/README.md states.

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

TUTORIAL, EXAMPLES = CHECKOUT / "docs" / "tutorial.md", CHECKOUT / "examples"
COMPARED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def files(folder: Path) -> dict[str, str]:
    """The files of a folder of papers, by path."""
    found = (file for suffix in ("py", "yaml") for file in folder.rglob(f"*.{suffix}"))
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in found}


def run_or_write(folder: Path) -> Document:
    """The tutorial, whose console blocks run in a folder, and whose other blocks are written to their captions."""

    def run(example: Example) -> str | None:
        command, _, expected = str(example.parsed).removeprefix("$ ").partition("\n")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        found = done.stdout + (f"[exit {done.returncode}]\n" if done.returncode else "")
        if doctest.OutputChecker().check_output(expected, found, COMPARED):
            return None
        return f"{command}\nexpected:\n{expected}\nfound:\n{found[-5000:]}"

    def write(example: Example) -> None:
        name, _, at_its_end = example.region.lexemes["options"]["caption"].partition(", ")
        with (folder / name).open("a" if at_its_end else "w", encoding="utf-8") as file:
            file.write(str(example.parsed))

    return Document.parse(
        str(TUTORIAL), CodeBlockParser("console", run), CodeBlockParser("python", write), CodeBlockParser("yaml", write)
    )


@pytest.mark.slow  # three runs of the workflow
def test_the_tutorial_works_and_ends_with_the_example(tmp_path: Path) -> None:
    for part in ("Snakefile", "config", "profiles", "src", "workflow"):
        (tmp_path / part).symlink_to(CHECKOUT / part)
    for example in run_or_write(tmp_path).examples():
        example.evaluate()
    assert files(tmp_path / "papers") == files(EXAMPLES)


def test_the_files_of_the_tutorial_are_those_of_the_example(tmp_path: Path) -> None:
    for folder in ("papers/adam", "papers/config/paper/adam"):
        (tmp_path / folder).mkdir(parents=True)
    for example in run_or_write(tmp_path).examples():
        if "caption" in (example.region.lexemes.get("options") or {}):
            example.evaluate()
    written = files(tmp_path / "papers")
    assert written | {"adam/__init__.py": files(EXAMPLES)["adam/__init__.py"]} == files(EXAMPLES)


def test_the_example_is_short() -> None:
    lines = [line.strip() for text in files(EXAMPLES).values() for line in text.splitlines()]
    counted = len([line for line in lines if line and not line.startswith("#")])
    assert counted < 150
    for page in (TUTORIAL, EXAMPLES / "README.md"):
        said = "lines of YAML and Python, not counting blank lines and comments"
        assert f"{counted} {said}" in " ".join(page.read_text(encoding="utf-8").split())


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
