"""Snakemake's log as users see it. Oracle: made-up records.

Sees lines of thousands of characters, lost records, and records that are changed for others, such as plugins.
"""

import copy
import json
import logging
import re
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.common import LogEvent

from resaudit.base.errors import ConfigError
from resaudit.cli.insides import Insides
from resaudit.cli.workflow import JobsOfRules, ReadableLog, make_readable, overrides_from, verdicts_in_words
from resaudit.plan.composition import load
from tests.claims.made import mentions
from tests.refusals import refused

JOB = {
    "msg": "", "rule_name": "train", "rule_msg": None, "local": False, "is_checkpoint": False, "jobid": 1, "log": [],
    "benchmark": None, "reason": "none", "wildcards": {}, "priority": 0, "threads": 1, "resources": {}, "indent": False,
    "aux": {}, "conda_env": None, "shellcmd": None,
}  # fmt: skip
"""A record of Snakemake's about a job, without its event and files."""


def shown(**fields: object) -> str:
    record = logging.makeLogRecord(fields)
    before = copy.deepcopy(vars(record))
    text = ReadableLog(DefaultFormatter(), lambda: "5 min").format(record)
    assert vars(record) == before, "other handlers get the same record"
    return text


def test_long_lists_of_files_are_counted() -> None:
    text = shown(**JOB, event=LogEvent.JOB_INFO, input=["a", "b", "c"], output=["d"])
    assert re.findall(r"(\w+put): (\w)(?: and (\d) more)?$", text, re.MULTILINE) == [
        ("input", "a", "2"), ("output", "d", ""),
    ]  # fmt: skip
    text = shown(**JOB, event=LogEvent.JOB_ERROR, input=[], output=["d", "e"])
    assert re.findall(r"(\w+put): (\w)(?: and (\d) more)?$", text, re.MULTILINE) == [("output", "d", "1")]


def test_progress_is_in_time_left() -> None:
    assert re.findall(r"\d+(?: min)?", shown(event=LogEvent.PROGRESS, done=3, total=87)) == ["3", "87", "5 min"]
    assert re.findall(r"\d+(?: min)?", shown(event=LogEvent.PROGRESS, done=87, total=87)) == ["87", "87"]
    assert shown(event=None, msg="Building DAG…") == "Building DAG…"


@pytest.mark.parametrize(("cores", "nodes", "said"), [(10**6, None, 2), (1, None, 1), (10**6, 200, 1)])
def test_more_cores_than_may_be_used_are_said(
    cores: int, nodes: int | None, said: int, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = cast(JobsOfRules, SimpleNamespace(time_left=lambda *_: "5 min"))
    with caplog.at_level(logging.INFO):
        make_readable(logging.getLogger(__name__), jobs, cast(Insides, SimpleNamespace(on_cluster=nodes)), cores)
    assert len(caplog.messages) == said


def test_verdicts_of_all_papers_or_of_what_is_asked_for_are_counted(tmp_path: Path) -> None:
    """A paper's name asks for the claims that have no figure yet, too."""
    first, second = "demystifying_resnet/theorem1", "identity_matters/table1"
    standings = [(first, "supported", None), ("demystifying_resnet/none", "not run", None), (second, "supported", None)]
    standings += [(second, "inconclusive", None), (second, "supported", "to its table")]
    claims = [
        {"id": f"{evidence}-{i}", "evidence": evidence, "verdict": verdict, "fitted": fitted, "obstacle": ""}
        for i, (evidence, verdict, fitted) in enumerate(standings)
    ]
    others = [{"id": f"identity_matters/{n}", "why": "it has another seed"} for n in "abc"]
    counts = {"supported": 2, "not run": 1, "inconclusive": 1, "fitted": 1}
    audit = tmp_path / "audit.json"
    papers = [{"counts": counts, "not_drawn": others, "claims": claims}]
    some = {"count": 2, "of": 5}
    shares = dict.fromkeys(("reproducible", "robust", "unmoved", "replicable"), some) | {"opposite": 0}
    audit.write_text(json.dumps({"scale": "smoke", "papers": papers, "shares": shares}), encoding="utf-8")
    words, said = verdicts_in_words(audit, load())
    assert said.count("40 % (2 of 5") == 3
    assert mentions(words, "scale smoke", "2 supported", "1 not run")
    assert words.endswith(str(tmp_path / "audit.html"))
    for asked, said, not_run in (("theorem1", "1 of 1", False), ("demystifying_resnet", "1 of 2", True)):
        (words,) = verdicts_in_words(audit, load([f"figures=[{asked}]"]))
        assert words.startswith(said)
        assert ("1 not run" in words) == not_run
    (words,) = verdicts_in_words(audit, load([f"figures=[{second}]"]))
    assert mentions(words, "1 of 3", "1 inconclusive", "1 fitted")
    (tmp_path / "identity_matters").mkdir()
    for name in ("a.csv", "b.csv", "c.json"):
        (tmp_path / "identity_matters" / name).touch()
    assert list(verdicts_in_words(audit, load()))[2].startswith("2 ")


def test_config_is_given_once() -> None:
    overrides_from({}, ["snakemake", "--config", "scale=paper", "seed=2"])
    for second in (["--config", "seed=2"], ["-C", "seed=2"], ["--config=seed=2"]):
        with refused(ConfigError, "--config is given twice; give"):
            overrides_from({}, ["snakemake", "--config", "scale=paper", *second])
