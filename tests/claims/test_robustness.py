"""Oracle: a made matrix. Sees verdicts under variants that get lost on the way through robustness.json."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.robustness import CONFIGURED, Robustness, _verdicts, read_robustness
from resaudit.config.models import Paths
from resaudit.errors import ResauditError
from resaudit.plan.layout import Layout
from resaudit.store.files import write_json

ROWS = pd.DataFrame(
    [
        (CONFIGURED, True, "supported", "supported", 1.0, 0.9, 1.1, "as configured"),
        ("control", True, "contradicted", "supported", 1.0, 0.9, 1.1, "one check fails"),
        ("control", True, "contradicted", "contradicted", 3.0, 2.0, np.inf, "one check fails"),
        ("not-centred", False, "supported", "supported", 1.0, 0.9, 1.1, "as the control"),
    ],
    columns=["variant", "depends", "verdict", "check_verdict", "effect", "low", "high", "why"],
)


def recorded(folder: Path, **changes: object) -> Layout:
    layout = Layout(Paths(data="data", results="results", figures=str(folder)))
    made = Robustness(
        paper="made_up", finished="2026-01-01T00:00:00+00:00", ledger="a", tables={"made_up/fig01": "b"}, variants=[],
        verdicts={"a-claim": _verdicts(ROWS)},
    )  # fmt: skip
    file = layout.figure("made_up/robustness", "json")
    file.parent.mkdir()
    write_json(file, json.loads(made.model_dump_json()) | changes)
    return layout


def test_the_deciding_check_stands_for_a_claim_under_a_variant(tmp_path: Path) -> None:
    found = read_robustness(recorded(tmp_path), "made_up")
    assert found is not None
    nothing = {"verdict": None, "why": None, "effect": None, "low": None, "high": None}
    assert found.of_claim("a-claim") == [
        {"id": "control", "verdict": "contradicted", "why": "one check fails", "effect": 3.0, "low": 2.0, "high": None},
        {"id": "not-centred"} | nothing,
    ]
    assert found.stale("a", {"made_up/fig01": "b"}) is None
    assert found.stale("a", {"made_up/fig01": "c"}) == "made_up/fig01 has been drawn anew since"


def test_a_damaged_record_is_named_in_one_line(tmp_path: Path) -> None:
    layout = recorded(tmp_path, verdicts={"a-claim": {"control": {"verdict": "proven"}}})
    with pytest.raises(
        ResauditError, match=r"cannot be read \(\$\.verdicts\.a-claim\.control\.verdict is 'proven'; allow"
    ):
        read_robustness(layout, "made_up")
