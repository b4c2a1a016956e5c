"""Oracle: the example, the same with one thing wrong, and jsonschema. Sees a wrong audit pass, and a stale schema."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from resaudit.audit.schema import audit_schema, check_audit, read_audit
from resaudit.base.errors import ResauditError, ResultsError, TableError
from tests.refusals import refused

Audit = dict[str, Any]


@pytest.fixture(scope="module")
def audit(folder: Path) -> Audit:
    audit: Audit = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    return audit


@pytest.fixture(scope="module")
def published() -> Draft202012Validator:
    """The schema that others validate with."""
    schema = audit_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def test_the_example_is_valid(audit: Audit, published: Draft202012Validator) -> None:
    check_audit(audit)
    published.validate(audit)


def test_every_field_is_described_and_no_other_allowed() -> None:
    """But for open names: of parameters, committed verdicts, settings, codes, a spot-check's jobs, and packages."""
    nodes: list[Any] = [audit_schema()]
    open_objects = 0
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if node.get("type") == "object":
                open_objects += not {"properties", "propertyNames"}.intersection(node)
                assert node.get("additionalProperties") is False or "properties" not in node, node
                for name, field in node.get("properties", {}).items():
                    assert "description" in field or "$ref" in field, name
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    assert open_objects == 8


def _first_claim(audit: Audit) -> Audit:
    claim: Audit = audit["papers"][0]["claims"][0]
    return claim


WRONG: dict[str, Callable[[Audit], Any]] = {
    "a missing field": lambda a: _first_claim(a).pop("interpretation"),
    "an unknown verdict": lambda a: _first_claim(a).update(verdict="proven"),
    "an unknown field": lambda a: _first_claim(a).update(note="x"),
    "another version": lambda a: a.update(version=3),
    "a number as text": lambda a: _first_claim(a)["checks"][0]["worst"].update(effect="1.0"),
    "an infinite end as null": lambda a: _first_claim(a)["checks"][0]["worst"].update(high=None),
    "a point of no choice": lambda a: _first_claim(a)["checks"][0]["worst"].update(choices=[]),
    "a count below zero": lambda a: a["papers"][0]["counts"].update(supported=-1),
    "a path that leads out": lambda a: a["papers"][0]["figures"][0]["files"].update(csv="../secret.csv"),
    "a path from the root": lambda a: a["papers"][0]["figures"][0]["files"].update(svg="/etc/passwd"),
    "an id without its paper": lambda a: _first_claim(a).update(id="depth-invariant-condition"),
    "a time that is none": lambda a: a.update(generated="yesterday"),
    "no papers at all": lambda a: a.pop("papers"),
    "a list": lambda a: a["papers"].append([]),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_audit_is_refused_in_one_line(
    wrong: str, audit: Audit, published: Draft202012Validator, tmp_path: Path
) -> None:
    broken = copy.deepcopy(audit)
    WRONG[wrong](broken)
    assert not published.is_valid(broken)
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(ResauditError) as error:
        read_audit(file)
    assert f"{file} " in str(error.value)
    assert ": $" in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("content", "kind"), [("{", TableError), ('{"version": NaN}', TableError), (None, ResultsError)]
)
def test_what_is_no_audit_is_refused(content: str | None, kind: type[ResauditError], tmp_path: Path) -> None:
    file = tmp_path / "audit.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with refused(kind, file):
        read_audit(file)
