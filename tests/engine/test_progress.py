"""Oracle: arithmetic. Sees a speed that counts what an earlier run did, and a time left of the wrong unit."""

import pytest

from resaudit.runtime import progress
from resaudit.runtime.progress import Progress


def test_speed_is_of_this_run_and_time_left_of_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    work = Progress(10_000, "images", "a-job")
    work.skip(4000)
    now = 105.0
    work.add(500)
    assert capsys.readouterr().err == ""
    now = 120.0
    work.add(500)
    assert capsys.readouterr().err == "a-job: 5000 of 10000 images, 50 images/s, 2 min left\n"
    work.add(5000)
    assert capsys.readouterr().err == ""
    now = 125.0
    work.end()
    assert capsys.readouterr().err == "a-job: 10000 of 10000 images after 25.0 s\n"
