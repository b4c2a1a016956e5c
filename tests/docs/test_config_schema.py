"""The schema of ``--config``. Oracle: jsonschema and the models. Sees one that refuses too much."""

from importlib import import_module
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from resaudit.base.errors import ResauditError
from resaudit.cli.workflow import overrides_from
from resaudit.plan.composition import load
from resaudit.plan.models import Run
from tests.conftest import CHECKOUT

FIGURE = "demystifying_resnet/fig07"
Given = dict[str, Any]


@pytest.fixture(scope="module")
def published() -> Draft202012Validator:
    """The schema that the site has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(CHECKOUT / "docs" / "_ext")
        schema = import_module("site_pages.models").config_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"scale": "smoke", "figures": ["fig07"], "overrides": ["fig07.runs=3", "seed=2"]},
        {"figures": "fig07", "overrides": "fig07.runs=3,seed=2"},
        {"dataset": "fashion_mnist", "seed": 3, "device": "cpu", "kernel": "torch", "checkpoint_seconds": 0.5},
        {"rung": 1},
        {"variant": "control", "paths": {"results": "elsewhere"}, "whitening": {"centered": False}},
    ],
)
def test_what_the_schema_allows_is_composed(given: Given, published: Draft202012Validator) -> None:
    published.validate(given)
    assert load(overrides_from(given), only=[FIGURE]).figure


@pytest.mark.parametrize(
    "given",
    [
        {"sede": 1},
        {"scale": 3},
        {"dataset": {"folder": "."}},
        {"figures": 7},
        {"overrides": 7},
        {"seed": -1},
        {"device": "gpu"},
        {"checkpoint_seconds": -1},
        {"variant": None},
        {"rung": 4},
        {"paths": {"result": "elsewhere"}},
        {"whitening": {"centered": "no"}},
        {"papers_path": 3},
    ],
)
def test_what_the_schema_refuses_is_refused(given: Given, published: Draft202012Validator) -> None:
    assert not published.is_valid(given)
    with pytest.raises(ResauditError):
        load(overrides_from(given), only=[FIGURE])


def test_every_setting_of_a_run_is_in_the_schema(published: Draft202012Validator) -> None:
    keys = published.schema["properties"]
    assert set(Run.model_fields) <= keys.keys()
    assert "  " not in "".join(key["description"] for key in keys.values())
