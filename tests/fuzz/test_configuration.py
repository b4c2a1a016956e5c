"""Oracle: the configuration as it stands. Sees overrides that end in a traceback, in many lines, or never.

Every key is set to right, wrong and absurd values, through :func:`resaudit.plan.composition.load` as it is used, on
folders that hold all of ``config/`` but for other figures and the claims about them: these only make composing slow.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from resaudit.audit.job import AuditJob
from resaudit.cli.explain import explain_figure
from resaudit.data.dataset import CifarDataset, IdxDataset, ImageFolderDataset
from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Execution
from resaudit.plan.claim import Check, Claim, Needs
from resaudit.plan.composition import NOT_FIGURES, config_folder, load
from resaudit.plan.experiment import experiments_of
from resaudit.plan.figure import Assumption, ColumnTolerance, Figure, Variant
from resaudit.plan.models import Config, Layout
from resaudit.plan.overrides import OF_FIGURES
from resaudit.plan.plan import Plan, make_plan
from resaudit.plan.words import claims_sha256
from residual.demystifying_resnet.experiments.theorems import Activations
from residual.demystifying_resnet.experiments.training import PerNetwork, RunsAt
from tests.fuzz.inputs import fuzzed, unless_refused

PAPER = "demystifying_resnet"
FILES = sorted((config_folder() / "paper" / PAPER).glob("[!_]*.yaml"))
FIGURES = [file.stem for file in FILES if file.stem not in NOT_FIGURES]
CLAIMS = yaml.safe_load((config_folder() / "paper" / PAPER / "claims.yaml").read_text(encoding="utf-8"))


def folder_with(figure: str, root: Path) -> Path:
    """``config/`` with one figure, and the claims about it and about none that is here."""
    root = root / figure
    shutil.copytree(config_folder(), root)
    for paper in (root / "paper").iterdir():
        if paper.name != PAPER:
            shutil.rmtree(paper)
    for other in set(FIGURES) - {figure}:
        (root / "paper" / PAPER / f"{other}.yaml").unlink()
    kept = {name: claim for name, claim in CLAIMS.items() if claim["evidence"] == figure}
    kept |= dict([next(item for item in CLAIMS.items() if item[1].get("not_yet"))])
    (root / "paper" / PAPER / "claims.yaml").write_text(yaml.safe_dump(kept, sort_keys=False), encoding="utf-8")
    return root


def inside(value: Any) -> dict[str, Any]:
    """What a section holds."""
    if isinstance(value, BaseModel):
        return {name: getattr(value, name) for name in type(value).model_fields}
    return value if isinstance(value, dict) else {}


def keys_of(value: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of a configuration with its value, sections among them."""
    if where:
        yield where, value
    for key, item in inside(value).items():
        yield from keys_of(item, f"{where}.{key.replace('/', '.')}".lstrip("."))


def keys_to_set(folder: Path) -> dict[str, Any]:
    """Every key that an override can name, with its value; what figures have of their own can be set for all."""
    config = load(folder=folder)
    (figure,) = config.figure.values()
    everywhere = {section: getattr(figure, section) for section in OF_FIGURES}
    settings = {key: value for key, value in inside(config).items() if key != "left_out"}
    return dict(keys_of({**settings, **everywhere}))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("config")
    return {figure: folder_with(figure, root) for figure in FIGURES}


@pytest.fixture(scope="module")
def keys(folders: dict[str, Path]) -> dict[str, dict[str, Any]]:
    """Every key that each folder's configuration has, with its value."""
    return {figure: keys_to_set(folder) for figure, folder in folders.items()}


def in_hydra(value: Any) -> str:
    """A value as one would type it."""
    if isinstance(value, BaseModel | dict):
        return "{" + ",".join(f"{key}:{in_hydra(item)}" for key, item in inside(value).items()) + "}"
    if isinstance(value, list):
        return f"[{','.join(map(in_hydra, value))}]"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


NUMBERS = st.one_of(
    st.integers(-2, 12).map(str), st.integers().map(str), st.floats().map(str),
    st.sampled_from([
        "1000000000", "1" + "0" * 400, "-0", "1e999", "-1e-400", "1e9", "nan", "inf", "-inf", "0x10", "1_000",
        "9" * 5000, "0.0", "1e308", "5e-324", "10001", "100001", "9223372036854775808", "04", "1.", ".5", "0b11",
    ]),
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=12), st.text(max_size=12).map(in_hydra),
    st.sampled_from([
        "", "''", '""', "null", "true", "~", "a b", "'a\nb'", "a\nb", "'\\n'", "'\u2028'", "'\x00'", "'\ud800'", "é",
        "'🙂'", "../../x", "/etc", "~nobody/x", "'~nosuchuser/x'", "'-r x'", "'git+https://x'", "x" * 20000,
        "'" + "y/" * 3000 + "'", "[", "]", "{", "}", "{a:1", "'", '"', "\\", "a=b", "#", "%", ",", "1,2",
        "range(1,10)", "choice(1,2)", "glob(*)", "interval(0,1)", "shuffle(1,2)", "sort(2,1)", "int(3)", "str(3)",
        "json_str('[1]')", "extend_list(3)", "float(x)", "tag(a,1)", "${seed}", "${scale.name}", "${figure}",
        "${oc.env:HOME}", "${oc.env:NO_SUCH_NAME}", "${nothing}", "${", "{from:1e-4,to:1,per_decade:2}",
        "{from:1e-4,to:9e9,per_decade:1000}", "{from:0,to:0,per_decade:0}", "{from:nan,to:1,per_decade:1}",
        "{from:a,to:b}", "{from:1e308,to:1e-308,per_decade:1}", "${oc.create:{a:1}}", "${oc.decode:'1'}",
        "${oc.select:seed}", "${oc.dict.keys:paths}", "${.seed}", "${..}", "${hydra:job.name}", "${no.such:1}",
        "???", "${${seed}}", "$" + "{a" * 40, "[" * 200 + "]" * 200, "{a:" * 100 + "1" + "}" * 100, "2-shortcut",
        "99999-shortcut", "9" * 30 + "-shortcut", "xavier-relu", "1-shortcut-relu", "paper", "smoke", "control",
        "mnist", "fashion_mnist", "cuda", "fused", "resnet",
    ]),
)  # fmt: skip
SCALARS = st.one_of(NUMBERS, TEXTS)
MODELS = [
    Activations, Assumption, CifarDataset, Claim, Figure, IdxDataset, ImageFolderDataset, Needs, PerNetwork, RunsAt,
    ColumnTolerance, Variant,
    *experiments_of(PAPER).values(), *Check.__subclasses__(),
]  # fmt: skip
FIELDS = sorted({name for model in MODELS for name in model.model_fields} | {"check", "foo", "laptop", "0"})


def braced(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.dictionaries(st.sampled_from(FIELDS), value, max_size=4).map(
        lambda items: "{" + ",".join(f"{key}:{item}" for key, item in items.items()) + "}"
    )


def bracketed(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(value, max_size=4).map(lambda items: f"[{','.join(items)}]")


NESTED = bracketed(braced(st.one_of(SCALARS, bracketed(NUMBERS))))
VALUES = st.one_of(SCALARS, NUMBERS, bracketed(NUMBERS), bracketed(SCALARS), braced(SCALARS), NESTED)
PREFIXES = st.sampled_from([*[""] * 12, "+", "++", "~", " ", "-"])
SUFFIXES = st.sampled_from([*[""] * 14, ".x", "@x", "[0]", ".0", ":a"])


def near(value: Any) -> st.SearchStrategy[str]:
    """Values of the kind that a key has."""
    if isinstance(value, list):
        return bracketed(NUMBERS if value and isinstance(value[0], int | float) else SCALARS)
    return NUMBERS if isinstance(value, int | float) else TEXTS if isinstance(value, str) else SCALARS


@st.composite
def one_override(draw: st.DrawFn, keys: dict[str, Any]) -> str:
    """A key of the configuration, a little wrong at times, set to its own value, to another key's, or to anything."""
    key = draw(st.sampled_from(sorted(keys)))
    own, others = st.just(in_hydra(keys[key])), st.sampled_from(sorted(keys)).map(lambda name: in_hydra(keys[name]))
    like = draw(st.one_of(own, others, near(keys[key]), near(keys[key]), VALUES, VALUES))
    spelt = draw(PREFIXES) + key + draw(SUFFIXES)
    return draw(st.sampled_from([*[f"{spelt}={like}"] * 12, spelt, f"{spelt}=", f"={like}", f"{spelt} = {like}"]))


@st.composite
def overrides(draw: st.DrawFn, keys: dict[str, Any]) -> list[str]:
    some = st.one_of(one_override(keys), one_override(keys), one_override(keys), st.text(max_size=20))
    also = st.sampled_from(
        [[], [], [], ["scale=smoke"], ["scale=paper"], ["variant=control"], ["variant=fashion-mnist"]]
    )
    return draw(st.lists(some, min_size=1, max_size=2)) + draw(also)


def _checked(given: list[str], folder: Path) -> tuple[Config, Plan]:
    config = load(given, folder)
    Layout(config.paths).check_writable("data", "results", "figures")
    return config, make_plan(config.with_every_figure() if config.left_out else config)


def planned(given: list[str], folder: Path) -> Config | None:
    """What the workflow does with a configuration before any job starts; None where it is refused, in one line."""
    made = unless_refused(lambda: _checked(given, folder))
    if made is None:
        return None
    config, plan = made
    for job in plan.jobs.values():
        cost = job.cost(Execution(kernel="torch"))
        assert cost.seconds > 0
        assert cost.megabytes > 0
        assert cost.threads in (1, 2)
    for name, part in plan.figures.items():
        assert draw_job(part.figure, part.figure, config).key
        assert all(len(line.strip("\n").splitlines()) <= 1 for line in explain_figure(plan, part.figure, name))
    assert AuditJob(config, tuple(given)).key
    assert claims_sha256(config, PAPER)
    return config


@pytest.mark.parametrize("figure", FIGURES)
def test_every_key_can_be_set_to_what_it_is(
    figure: str, folders: dict[str, Path], keys: dict[str, dict[str, Any]]
) -> None:
    """Else the fuzz below would see refusals only."""
    leaves = [key for key, value in keys[figure].items() if isinstance(value, int | float | str)]
    chosen = [key for key in leaves if not key.startswith(("scale.", "dataset.name", "dataset.files", "paths."))]
    plain = [
        f"{key}={in_hydra(keys[figure][key])}"
        for key in chosen
        if not any(
            part in f"{key}." for part in (".scales.", "variant_scales", ".checks.", ".dataset.name.", ".files.")
        )
    ]
    plain = [override for override in plain if not re.match(r"figure\.\w+\.\w+\.name=", override)]
    assert len(plain) > 20
    assert planned(plain, folders[figure])


@pytest.mark.parametrize(
    "given",
    ["assumptions.dimensions.setting=", "assumptions.dimensions.setting=scales.laptop", "dataset=[0]", "scale=[0]"],
)
def test_what_was_found_below_is_refused(given: str, folders: dict[str, Path]) -> None:
    """It ended in a traceback, or in silence."""
    assert planned([f"figure.{PAPER}.fig10.{given}"], folders["fig10"]) is None


@fuzzed(400)
@given(st.data())
def test_any_overrides_give_a_plan_or_one_line(
    folders: dict[str, Path], keys: dict[str, dict[str, Any]], data: st.DataObject
) -> None:
    figure = data.draw(st.sampled_from(FIGURES))
    planned(data.draw(overrides(keys[figure])), folders[figure])
