"""Oracle: both parts of the tutorial, run command by command, and the verdicts that examples/README.md states.

Sees a tutorial or an example that does not work, ends with another paper, or gives other verdicts than it says; and an
engine that needs a clone, torch or a paper of this repository where a paper does not.
"""

import doctest
import json
import os
import shlex
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from sybil import Document, Example
from sybil.parsers.myst import CodeBlockParser

from tests.conftest import CHECKOUT, run_command
from tests.refusals import assert_exits
from tests.workflow.test_wheel import wheel_of

EXAMPLES = CHECKOUT / "examples"
PAGES = {"adam": CHECKOUT / "docs" / "tutorial.md", "edge": CHECKOUT / "docs" / "tutorial_torch.md"}
COMPARED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def files(folder: Path, paper: str) -> dict[str, str]:
    """The files of a paper in a folder of papers, by path."""
    places = (folder / paper, folder / "config" / "paper" / paper)
    found = (file for place in places for suffix in ("py", "yaml") for file in place.glob(f"*.{suffix}"))
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in found}


def run_or_write(folder: Path, page: Path, programs: Path) -> Document:
    """A page, whose console blocks run in a folder command by command, and whose other blocks become files.

    Args:
        folder: the folder.
        page: the page.
        programs: an environment's folder of commands.
    """

    def run(example: Example) -> str | None:
        for block in str(example.parsed).removeprefix("$ ").split("\n$ "):
            command, _, expected = block.partition("\n")
            path = f"{programs}{os.pathsep}{os.environ['PATH']}"
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

    written = (CodeBlockParser(language, write) for language in ("python", "yaml", "text"))
    return Document.parse(str(page), CodeBlockParser("console", run), *written)


def verdicts(folder: Path, paper: str) -> dict[str, str]:
    """The verdicts on a paper's claims, of the audit in a folder."""
    audit = json.loads((folder / "figures" / "audit.json").read_text(encoding="utf-8"))
    (claims,) = (each["claims"] for each in audit["papers"] if each["id"] == paper)
    return {claim["id"]: claim["verdict"] for claim in claims}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of an environment that has the wheel and what it depends on, but neither torch nor a clone."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel_of(folder)
    (wheel,) = folder.glob("resaudit-*.whl")
    venv.create(folder / "venv", symlinks=True)
    programs = folder / "venv" / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--ignore-installed", str(wheel)], check=True, capture_output=True, timeout=300)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    (packages / "sitecustomize.py").write_text(BARE, encoding="utf-8")
    return programs


BARE = """
import sys
sys.modules |= dict.fromkeys(("torch", "torchvision"))  # importing them raises ImportError
"""


def test_the_tutorial_begins_with_a_wheel_alone_and_ends_with_the_example_and_its_page(
    wheels: Path, tmp_path: Path
) -> None:
    for example in run_or_write(tmp_path, PAGES["adam"], wheels).examples():
        example.evaluate()
    assert files(tmp_path / "papers", "adam") == files(EXAMPLES, "adam")
    assert verdicts(tmp_path, "adam") == {
        "adam/unbiased-second-moment": "supported", "adam/scale-free-steps": "supported",
        "adam/adagrad-limit": "supported", "adam/vanishing-regret": "contradicted",
    }  # fmt: skip
    assert "vanishing-regret" in (tmp_path / "figures" / "audit.html").read_text(encoding="utf-8")


def test_what_needs_torch_ends_without_it_in_one_line_a_figure_before_any_job(wheels: Path, tmp_path: Path) -> None:
    committed = f"paths.figures={CHECKOUT / 'figures' / 'reference'}"  # theorems are judged by the paper's own code
    assert_exits(run_command(str(wheels / "resaudit"), "audit", committed, cwd=tmp_path), "resaudit[torch]")
    explained = run_command(str(wheels / "resaudit"), "explain", "theorem1", "scale=smoke", cwd=tmp_path).stdout
    ((program, *words),) = (
        shlex.split(line.removeprefix("draw it: ")) for line in explained.splitlines() if line.startswith("draw it: ")
    )
    drawn = run_command(str(wheels / program), *words, cwd=tmp_path)
    assert_exits(drawn, "torch", "resaudit[torch]")
    assert not list(tmp_path.glob("results/*/*/*.npz"))


@pytest.mark.slow  # three runs of the workflow
@pytest.mark.usefixtures("mnist_config")
def test_part_two_works_and_ends_with_the_example(tmp_path: Path) -> None:
    for part in ("Snakefile", "config", "examples", "profiles", "src", "workflow", "data/mnist"):
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).symlink_to(CHECKOUT / part)
    for example in run_or_write(tmp_path, PAGES["edge"], Path(sys.executable).parent).examples():
        example.evaluate()
    assert files(tmp_path / "papers", "edge") == files(EXAMPLES, "edge")
    assert len(found := verdicts(tmp_path, "edge")) == 4
    assert "not run" not in found.values()
