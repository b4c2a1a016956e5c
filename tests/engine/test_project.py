"""The project as software. Sees commands that install other versions than CI's, and a figure without a module."""

import ast
import json
import re
import tomllib
from collections import Counter
from importlib.metadata import requires
from itertools import chain

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resaudit.audit.models import STANDINGS
from resaudit.base.papers import papers
from resaudit.cli.workflow import check_modules
from resaudit.figures.drawing import figure_module
from resaudit.plan.composition import files_of_figures
from tests.conftest import CHECKOUT

PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = "constraints.txt"
FIGURES = f'python -m pip install -c {LOCK} -e ".[torch]" && snakemake --cores all'
TESTS = f'python -m pip install -c {LOCK} -e ".[test]" && pytest'


def lines_of(name: str) -> list[str]:
    return (CHECKOUT / name).read_text(encoding="utf-8").splitlines()


def test_readme_and_ci_install_from_the_lock_file() -> None:
    commands = [line.split("  #")[0].strip() for line in lines_of("README.md") if line.startswith("python -m pip")]
    assert commands == [FIGURES, TESTS]
    assert lines_of(".ci/run")[-1].startswith(TESTS)
    for name in (
        "README.md", "CONTRIBUTING.md", ".ci/run", ".readthedocs.yaml", "docs/travel.md", "profiles/README.md",
    ):  # fmt: skip
        for line in lines_of(name):
            assert "-e" not in line.split() or "pip install" not in line or f"pip install -c {LOCK} -e" in line, line


def test_citation_codemeta_and_zenodo_describe_the_project_of_pyproject() -> None:
    """Sees a release that one of them missed. CITATION.cff is the source of the title, the abstract and the date."""
    citation = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
    version, keywords, names = PROJECT["version"], PROJECT["keywords"], [each["name"] for each in citation["authors"]]
    released, papers = (
        str(citation["date-released"]),
        [each["identifiers"][0]["value"] for each in citation["references"]],
    )
    common = {"version": version, "keywords": keywords}
    described = common | {"description": citation["abstract"]}
    wanted = {
        "codemeta.json": described
        | {
            "name": PROJECT["name"],
            "headline": citation["title"],
            "dateModified": released,
            "license": f"https://spdx.org/licenses/{PROJECT['license']}",
            "author": [{"@type": "Organization", "name": name} for name in names],
            "softwareRequirements": [f"Python {PROJECT['requires-python']}"],
            "referencePublication": [
                {"@type": "ScholarlyArticle", "name": each["title"], "identifier": paper}
                for each, paper in zip(citation["references"], papers, strict=True)
            ],
        },
        ".zenodo.json": described
        | {
            "title": citation["title"],
            "publication_date": released,
            "license": PROJECT["license"],
            "creators": [{"name": name} for name in names],
            "related_identifiers": [{"identifier": paper, "relation": "cites", "scheme": "arxiv"} for paper in papers],
        },
    }
    assert citation == citation | common | {"license": PROJECT["license"]}
    for name, fields in wanted.items():
        found = json.loads((CHECKOUT / name).read_text(encoding="utf-8"))
        assert {key: found.get(key) for key in fields} == fields, name
    headings = re.findall("^## (.+)$", (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[:2] == ["Unreleased", f"{version} - {released}"]


def test_the_papers_references_are_cited_and_its_length_is_what_the_journal_takes() -> None:
    paper, bibliography = ((CHECKOUT / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    _, front, body = paper.split("---\n", 2)
    assert set(re.findall(r"@(\w+)", body)) == set(re.findall(r"^@\w+\{(\w+),$", bibliography, re.MULTILINE))
    assert yaml.safe_load(front)["bibliography"] == "paper.bib"
    assert 750 <= len(re.sub("<!--.*?-->", "", body, flags=re.DOTALL).split()) <= 1750


def test_whoever_calls_a_verdict_wrong_can_name_each() -> None:
    form = yaml.safe_load((CHECKOUT / ".github" / "ISSUE_TEMPLATE" / "verdict.yml").read_text(encoding="utf-8"))
    (verdict,) = (field["attributes"] for field in form["body"] if field.get("id") == "verdict")
    assert tuple(verdict["options"]) == STANDINGS


def test_no_part_of_the_project_is_a_symbolic_link() -> None:
    """Unpacked or cloned where there are none, a link is a text file, and what it leads to is not found."""
    folders = ("benchmarks", "config", "docs", "examples", "figures/reference", "profiles", "src", "tests", "workflow")
    found = [path for folder in folders for path in (CHECKOUT / folder, *(CHECKOUT / folder).rglob("*"))]
    assert len(found) > 500
    assert [path for path in found if path.is_symlink()] == []


def test_the_lock_file_pins_all_that_the_project_names_within_its_bounds() -> None:
    """Sees a bound that was raised without the lock file, and a line that pip would not take with ``-c``."""
    pinned: dict[str, list[Requirement]] = {}
    for line in lines_of(LOCK):
        if not line.strip().startswith("#"):
            pin = Requirement(line)
            assert re.fullmatch(r"==[\w.]+", str(pin.specifier)), line
            assert (pin.extras, pin.url) == (set(), None), line
            pinned.setdefault(canonicalize_name(pin.name), []).append(pin)
    assert {"torch", "snakemake", "pytest"} <= set(pinned)
    for named in map(Requirement, [*PROJECT["dependencies"], *chain(*PROJECT["optional-dependencies"].values())]):
        if named.name != PROJECT["name"]:
            for pin in pinned[canonicalize_name(named.name)]:
                (version,) = pin.specifier
                assert named.specifier.contains(version.version, prereleases=True), f"{named}, but {pin} in {LOCK}"


def test_environment_installs_the_project_and_allows_its_pythons() -> None:
    environment = yaml.safe_load((CHECKOUT / "environment.yml").read_text(encoding="utf-8"))
    conda = [d for d in environment["dependencies"] if isinstance(d, str)]
    (pip,) = [d["pip"] for d in environment["dependencies"] if isinstance(d, dict)]
    assert environment["name"] == PROJECT["name"]
    # Every other requirement comes through the project itself: none is written down twice.
    assert conda == [f"python{PROJECT['requires-python']}", "pip"]
    assert pip == [f"--constraint {LOCK}", "--editable .[test]"]


def test_every_figure_has_a_module_and_starts_with_its_command() -> None:
    files = files_of_figures(CHECKOUT / "config")
    short = Counter(name.split("/")[1] for name in files)
    check_modules(files)  # without importing them
    for name, file in files.items():
        module = figure_module(name)
        assert callable(module.table)
        assert callable(module.plot)
        first = file.read_text(encoding="utf-8").splitlines()[0]
        wanted = name if short[name.split("/")[1]] > 1 else name.split("/")[1]
        assert first == f'# snakemake --cores all --config "figures=[{wanted}]"'


def test_what_a_report_needs_is_installed_with_the_project() -> None:
    """``snakemake --report`` imports pygments, which only extras would bring: tests have it through pytest."""
    (snakemake,) = (named for named in map(Requirement, PROJECT["dependencies"]) if named.name == "snakemake")
    needs = map(Requirement, requires("snakemake") or [])
    brought = {each.name for each in needs for extra in ("", *snakemake.extras) if _applies(each, extra)}
    assert "pygments" in brought


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def test_the_code_of_the_engine_names_nothing_that_is_a_papers() -> None:
    """Docstrings may give examples. Sees a column, an experiment's key or a scale that the engine knows by name."""
    of_papers = re.compile("|".join((*papers(), "xavier", "shortcut", "eigenvalue", "per_network", "trapped", "smoke")))
    for file in (CHECKOUT / "src" / "resaudit").rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                node.value.value = ""
        assert not of_papers.search(ast.unparse(tree).lower()), file
