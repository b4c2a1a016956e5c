"""The documentation as a site. Oracle: the models, the command and the ledgers themselves.

Sees a page that warns, a link inside the site that leads nowhere, a key, an option or a claim that the reference
lacks, and a figure or a verdict that the results lack.
"""

import re
import sys
from html import unescape
from pathlib import Path

import click
import pytest

from resaudit.base.models import Model
from resaudit.claims.words import threshold_in_words
from resaudit.cli.commands import cli
from resaudit.data.dataset import CifarDataset, DataFile, IdxDataset, ImageFolderDataset
from resaudit.plan.claim import Check, Claim, Limit, Needs, Response, checks_by_name
from resaudit.plan.composition import load
from resaudit.plan.experiment import experiments_of
from resaudit.plan.figure import Assumption, ColumnTolerance, Figure, Paper, Variant, Whitening
from resaudit.plan.models import Config, Paths, Run, Scale
from tests.conftest import CHECKOUT, run_command

for package in ("sphinx", "myst_parser", "furo", "sphinx_click"):
    pytest.importorskip(package, reason="the extra docs is not installed")

SECTIONS: list[type[Model]] = [
    Run, Paths, Scale, Figure, Whitening, Paper, Assumption, Variant, ColumnTolerance, IdxDataset, CifarDataset,
    ImageFolderDataset, DataFile, Claim, Needs, Limit, Response,
]  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    strict = ("-n", "-W", "--keep-going", "-q", "-d", "doctrees")
    run = run_command(sys.executable, "-m", "sphinx", *strict, str(CHECKOUT / "docs"), "html", cwd=folder, timeout=900)
    assert (run.returncode, run.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def config() -> Config:
    return load([])


def parts(site: Path, page: str, prefix: str) -> dict[str, str]:
    """Each section of a page whose id begins so, up to the next, as plain text with keys in backticks."""
    html = (site / f"{page}.html").read_text(encoding="utf-8")
    html = re.sub(r"<code[^>]*>(.*?)</code>", r"`\1`", html, flags=re.DOTALL)
    _, *found = re.split(rf'<section id="{prefix}-([\w-]+)">', html)
    return {key: unescape(re.sub(r"<[^>]+>", "", text)) for key, text in zip(found[::2], found[1::2], strict=True)}


def test_every_key_of_the_configuration_is_there(site: Path, config: Config) -> None:
    known = parts(site, "reference/configuration", "keys")
    experiments = {kind for paper in config.claims for kind in experiments_of(paper).values()}
    for kind in [*SECTIONS, *experiments]:
        missing = [key for key in kind.model_fields if f"`{key}`" not in known[kind.__name__.lower()]]
        assert missing == [], kind


@pytest.mark.parametrize("page", ["configuration", "checks"])
def test_every_key_has_a_default_and_a_meaning(site: Path, page: str) -> None:
    html = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr[^>]*>(?:(?!</tr>).)*<td>(?:<p></p>)?</td>.*?</tr>", html, flags=re.DOTALL)
    assert [re.findall(r'class="pre">([^<]*)', row)[0] for row in rows] == []


def test_every_parameter_of_a_check_is_there(site: Path, config: Config) -> None:
    known = parts(site, "reference/checks", "keys")
    assert config.claims  # composing them imports the checks
    # Another test of this process may have made a check of its own, or imported an example's.
    packages = ("resaudit.", "residual.")
    ours = [kind for kind in checks_by_name().values() if kind.__module__.startswith(packages)]
    for kind in [Check, *ours]:
        own = kind.model_fields if kind is Check else set(kind.model_fields) - set(Check.model_fields)
        missing = [key for key in own if f"`{key}`" not in known[kind.__name__.lower()]]
        assert missing == [], kind


def test_every_claim_is_there_with_its_place_and_thresholds(site: Path, config: Config) -> None:
    known = parts(site, "reference/claims", "claim")
    for paper, claims in config.claims.items():
        for key, claim in claims.items():
            text = known[f"{paper}-{key}".replace("_", "-")]
            assert claim.statement in text
            assert claim.where in text
            assert ("Check it: `snakemake --cores all" in text) == (not claim.not_yet)
            for name, check in claim.checks.items():
                assert re.search(rf"{name}\s+`{check.name}`[^\n]*", text), (key, name)
                assert threshold_in_words(check) in text


def test_every_command_is_there_with_its_options(site: Path) -> None:
    page = unescape((site / "reference" / "cli.html").read_text(encoding="utf-8"))
    for name, command in cli.commands.items():
        assert f'id="resaudit-{name}"' in page
        for option in command.params:
            if isinstance(option, click.Option):
                assert f'id="cmdoption-resaudit-{name}-{option.opts[0].lstrip("-")}"' in page


def test_every_committed_table_is_drawn_and_every_verdict_is_beside_its_figure(site: Path) -> None:
    results, verdicts = ((site / f"{page}.html").read_text(encoding="utf-8") for page in ("results", "verdicts"))
    drawn = re.findall(r'<img src="(_drawn/[^"]+)', results)
    reference = CHECKOUT / "figures" / "reference"
    papers = [folder for folder in reference.iterdir() if folder.is_dir() and folder.name != "scale_paper"]
    tables = [csv for paper in papers for csv in paper.glob("*.csv") if csv.stem != "robustness"]
    pictures = [csv.relative_to(reference).with_suffix(".png") for csv in tables]
    assert sorted(drawn) == sorted(f"_drawn/{picture}" for picture in pictures)
    assert all((site / png).is_file() for png in drawn)
    there, here = (re.findall(r"<li><p>(<strong>.*?)</li>", page, flags=re.DOTALL) for page in (verdicts, results))
    assert sorted(here) == sorted(item for item in there if not item.startswith("<strong>not run"))
