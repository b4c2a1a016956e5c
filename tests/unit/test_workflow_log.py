"""Snakemake's log as users see it. Oracle: made-up records. Sees lines of thousands of characters and lost records."""

import json
import logging
from pathlib import Path

import pytest

from resaudit.base.errors import ResauditError
from resaudit.cli.workflow import ReadableLog, overrides_from, verdicts_in_words


def shown(**fields: object) -> logging.LogRecord:
    record = logging.makeLogRecord(fields)
    assert ReadableLog(lambda: 1860.0).filter(record)
    return record


def test_long_lists_of_files_are_counted() -> None:
    record = shown(event="job_info", input=["a", "b", "c"], output=["d"])
    assert vars(record)["input"] == ["a and 2 more"]
    assert vars(record)["output"] == ["d"]
    assert vars(shown(event="job_error", input=[], output=["d", "e"]))["output"] == ["d and 1 more"]


def test_progress_is_in_minutes_left() -> None:
    assert shown(event="progress", done=3, total=87).msg == "3 of 87 jobs done, about 31 minutes left"
    assert shown(event="progress", done=87, total=87).msg == "87 of 87 jobs done"
    assert shown(event=None, msg="Building DAG of jobs...").msg == "Building DAG of jobs..."


def test_verdicts_of_all_papers_are_counted(tmp_path: Path) -> None:
    counts = [{"counts": {"supported": 8, "not run": 1}}, {"counts": {"supported": 2, "not run": 0}}]
    (tmp_path / "audit.json").write_text(json.dumps({"papers": counts}), encoding="utf-8")
    assert verdicts_in_words(tmp_path / "audit.json") == (
        f"claims: 10 supported, 1 not run; open {tmp_path / 'audit.html'}"
    )


@pytest.mark.parametrize("number", [202405, 1e5, True])
def test_a_folder_of_papers_that_snakemake_reads_as_a_number_is_refused(number: object) -> None:
    with pytest.raises(ResauditError, match=r"papers_path=\./FOLDER"):
        overrides_from({"papers_path": number})


def test_config_is_given_once() -> None:
    overrides_from({}, ["snakemake", "--config", "scale=paper", "seed=2"])
    for second in (["--config", "seed=2"], ["-C", "seed=2"], ["--config=seed=2"]):
        with pytest.raises(ResauditError, match="given twice"):
            overrides_from({}, ["snakemake", "--config", "scale=paper", *second])
