"""Oracle: files that a run wrote. Sees tables and records that end in a traceback, or count though damaged."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resaudit.audit.build import drawn_figures, judgements_of, make_audit, provenance_of
from resaudit.audit.schema import check_audit, read_audit
from resaudit.base.errors import ResauditError
from resaudit.claims.comparison import compare_with_references
from resaudit.claims.robustness import read_robustness
from resaudit.figures.draw import Draw, reference_file
from resaudit.figures.drawing import about
from resaudit.figures.tables import drawn
from resaudit.jobs.job import Execution
from resaudit.jobs.plan_files import read_job, write_job
from resaudit.jobs.provenance import provenance
from resaudit.plan.composition import load
from resaudit.plan.models import Layout
from resaudit.plan.plan import Plan, make_plan
from tests.fuzz.inputs import damage, damaged, fuzzed, unless_refused
from tests.ran import RAN

PAPER = "demystifying_resnet"
NAME = f"{PAPER}/fig11"
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)
ODD = st.sampled_from([b"", b"\0", b"\xff\xfe{}", b"NaN", b"1" * 5000, b'{"a":1}{', b"null", b"[]", b"3"])


@st.composite
def altered(draw: st.DrawFn, valid: Any) -> bytes:
    """A JSON document with a value of it replaced or gone, wherever it stands."""
    changed = json.loads(json.dumps(valid))
    node = changed
    while True:
        keys = sorted(node) if isinstance(node, dict) else list(range(len(node)))
        key = draw(st.sampled_from(keys))
        if not isinstance(node[key], dict | list) or not node[key] or draw(st.booleans()):
            break
        node = node[key]
    if draw(st.booleans()):
        del node[key]
    else:
        node[key] = draw(JSON)
    return json.dumps(changed).encode()


def any_json(valid: Any) -> st.SearchStrategy[bytes]:
    return st.one_of(altered(valid), damaged(json.dumps(valid).encode()), JSON.map(json.dumps).map(str.encode), ODD)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A plan with one figure that has been drawn: its table is the committed reference."""
    root = tmp_path_factory.mktemp("records")
    where = [f"paths.{key}={root / key}" for key in ("results", "figures")]
    plan = make_plan(load(["figures=[fig11]", *where]))
    layout = Layout(plan.config.paths)
    csv = layout.figure(NAME, "csv")
    csv.parent.mkdir(parents=True)
    shutil.copy(reference_file(NAME), csv)
    said = about(Draw(plan.figures[NAME].figure, (), (), "", "data")) | provenance()
    said |= {"sha256": hashlib.sha256(csv.read_bytes()).hexdigest()}
    layout.figure(NAME, "json").write_text(json.dumps(said), encoding="utf-8")
    return plan


class Changed:
    """Files that hold something else within a block."""

    def __init__(self, *changes: tuple[Path, bytes]) -> None:
        self._before = {path: path.read_bytes() if path.is_file() else None for path, _ in changes}
        for path, content in changes:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        for path, content in self._before.items():
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content)


def record(plan: Plan) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(Layout(plan.config.paths).figure(NAME, "json").read_bytes())
    return said


def test_what_was_drawn_is_audited_and_agrees(plan: Plan) -> None:
    made = make_audit(plan, [])
    check_audit(made.as_json())
    assert [figure.id for figure in made.figures] == [NAME]
    said: list[str] = []
    assert not compare_with_references(plan, said.append), said


@fuzzed(100)
@given(st.data())
def test_any_record_beside_a_table_is_that_of_the_table_or_refused(plan: Plan, data: st.DataObject) -> None:
    content = data.draw(any_json(record(plan)))
    with Changed((Layout(plan.config.paths).figure(NAME, "json"), content)):
        found = unless_refused(lambda: drawn_figures(plan, plan, PAPER))
        if found is not None:
            assert [figure.sha256 for figure in found[0].values()] == [record(plan)["sha256"]]
        said: list[str] = []
        compare_with_references(plan, said.append)
        assert [len(line.splitlines()) for line in said] == [1]


@st.composite
def tables(draw: st.DrawFn, valid: bytes) -> list[bytes]:
    """A table with cells, rows or columns changed, or its bytes; in a list, since Hypothesis keeps all else."""
    if draw(st.booleans()):
        return [damage(draw, valid)]
    rows = [line.split(",") for line in valid.decode().splitlines()]
    odd = st.sampled_from(["", "nan", "inf", "-1", "0", "1e999", "abc", '"', "2-shortcut", "True", "9" * 400, "1,1"])
    for _ in range(draw(st.integers(1, 3))):
        row, column = draw(st.integers(0, min(len(rows) - 1, 20))), draw(st.integers(0, len(rows[0]) - 1))
        kind = draw(st.sampled_from(["cell", "column", "row", "twice"]))
        if kind == "cell" and column < len(rows[row]):
            rows[row][column] = draw(odd)
        elif kind == "column":
            value = draw(odd)
            rows = [
                [*r[:column], r[column] if i == 0 else value, *r[column + 1 :]]
                for i, r in enumerate(rows)
                if r[column:]
            ]
        elif kind == "row" and len(rows) > 1:
            del rows[row]
        else:
            rows.insert(row, list(rows[row]))
    return ["\n".join(",".join(row) for row in rows).encode()]


# Made once, for the same reason: half a megabyte each.
TABLES = st.one_of(tables(reference_file(NAME).read_bytes()), st.one_of(ODD, st.binary(max_size=64)).map(lambda b: [b]))


@fuzzed(40)
@given(st.data())
def test_any_table_is_judged_and_compared_or_refused(plan: Plan, data: st.DataObject) -> None:
    """With its checksum set right, as whoever alters it on purpose would: else it is refused for that alone."""
    layout = Layout(plan.config.paths)
    (content,) = data.draw(TABLES)
    said = json.dumps(record(plan) | {"sha256": hashlib.sha256(content).hexdigest()}).encode()
    with Changed((layout.figure(NAME, "csv"), content), (layout.figure(NAME, "json"), said)):
        unless_refused(lambda: judgements_of(plan.config, PAPER, *drawn_figures(plan, plan, PAPER)))
        lines: list[str] = []
        compare_with_references(plan, lines.append)
        assert [len(line.splitlines()) for line in lines] == [1]


def test_a_table_that_was_changed_does_not_count(plan: Plan) -> None:
    csv = Layout(plan.config.paths).figure(NAME, "csv")
    with Changed((csv, csv.read_bytes() + b"\n")), pytest.raises(ResauditError, match="fig11"):
        make_audit(plan, [])


@fuzzed(300)
@given(st.data())
def test_any_settings_are_those_asked_for_or_refused(plan: Plan, data: st.DataObject) -> None:
    (whiten,) = plan.jobs_of("whiten").values()
    content = data.draw(any_json(whiten.identity))
    results = Path(plan.config.paths.results)
    with Changed((whiten.folder(results) / "settings.json", content)), pytest.raises(ResauditError) as refusal:
        whiten.moments(results)
    assert len(str(refusal.value).splitlines()) == 1
    assert "settings.json" in str(refusal.value) or json.loads(content) == whiten.identity


@fuzzed(300)
@given(st.data())
def test_any_file_of_a_job_is_that_job_or_refused(plan: Plan, data: st.DataObject) -> None:
    results = Path(plan.config.paths.results)
    (job,) = plan.jobs_of("theorem").values()
    file = write_job(job, Execution(), results)
    with Changed((file, data.draw(any_json(json.loads(file.read_bytes()))))):
        found = unless_refused(lambda: read_job(results, job.key))
        assert found is None or found[0] == job


MATRIX = {
    "paper": "demystifying_resnet", "finished": "2025-01-01T00:00:00+00:00", "ledger": {"a-claim": "0" * 64},
    "tables": {NAME: "0" * 64},
    "variants": [{"id": "control", "summary": "", "overrides": [], "scale": "laptop", "deviations": ["runs"]}],
    "verdicts": {"a-claim": {"control": {"verdict": "supported", "why": "", "effect": 1.0, "low": None, "high": 2.0}}},
}  # fmt: skip


@fuzzed(300)
@given(any_json(MATRIX))
def test_any_matrix_is_read_or_refused(plan: Plan, content: bytes) -> None:
    layout = Layout(plan.config.paths)
    with Changed((layout.figure("demystifying_resnet/robustness", "json"), content)):
        found = unless_refused(lambda: read_robustness(layout, "demystifying_resnet"))
        if found is not None:
            assert isinstance(found.verdicts, dict)
            assert found.stale({}, {}) != ""


@fuzzed(100)
@given(any_json(RAN))
def test_any_provenance_of_a_job_is_read_or_refused(plan: Plan, content: bytes) -> None:
    figure, folder = drawn(plan, NAME), Path(plan.config.paths.results) / "theorem" / "it"
    assert figure is not None
    with Changed((folder / "provenance.json", content)):
        found = unless_refused(lambda: provenance_of(figure, [folder]))
        if found is not None:
            assert isinstance(found.seconds, float)
            assert all(isinstance(device, str) for device in found.devices)


@pytest.fixture(scope="module")
def audit(plan: Plan) -> dict[str, Any]:
    """An audit of the one figure and the claims about it."""
    made = make_audit(plan, []).as_json()
    for paper in made["papers"]:
        paper["claims"] = [claim for claim in paper["claims"] if claim["evidence"] == NAME]
    return made


@fuzzed(100)
@given(st.data())
def test_any_audit_keeps_to_its_schema_or_is_refused(plan: Plan, audit: dict[str, Any], data: st.DataObject) -> None:
    file = Path(plan.config.paths.figures) / "audit.json"
    with Changed((file, data.draw(any_json(audit)))):
        found = unless_refused(lambda: read_audit(file))
        if found is not None:
            check_audit(found.as_json())
