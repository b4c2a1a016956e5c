"""The project as software. Sees environment.yml drift from pyproject.toml, and a figure without a module."""

import tomllib

import pytest
import yaml

from resaudit.composition import load
from resaudit.papers.drawing import figure_module
from tests.conftest import CHECKOUT


def test_environment_installs_the_project_and_allows_its_pythons() -> None:
    environment = yaml.safe_load((CHECKOUT / "environment.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    conda = [d for d in environment["dependencies"] if isinstance(d, str)]
    (pip,) = [d["pip"] for d in environment["dependencies"] if isinstance(d, dict)]
    assert environment["name"] == project["name"]
    # Every other requirement comes through the project itself: none is written down twice.
    assert conda == [f"python{project['requires-python']}", "pip"]
    assert pip == ["--editable .[test]"]
    assert "test" in project["optional-dependencies"]


def test_every_figure_has_a_module_and_starts_with_its_command() -> None:
    for name, _ in load().every_figure():
        module = figure_module(name)
        assert callable(module.table)
        assert callable(module.plot)
        first = (CHECKOUT / "config" / "figure" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
        assert first == f'# snakemake --cores all --config "figures=[{name.split("/")[1]}]"'


@pytest.mark.parametrize("limit", [50])
def test_the_snakefile_only_includes_and_names_targets(limit: int) -> None:
    lines = (CHECKOUT / "Snakefile").read_text(encoding="utf-8").splitlines()
    assert len(lines) < limit
    assert not any(line.startswith(("def ", "class ")) for line in lines)
