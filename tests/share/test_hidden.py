"""Hidden files beside records, as macOS and editors leave them. Oracle: what is read without them.

Sees one that is read as a record, or stops the reading of the others.
"""

from pathlib import Path

import pytest

from resaudit.audit.build import spot_checks
from resaudit.base.files import write_json
from resaudit.jobs.origin import CHECKS
from resaudit.share.records import imports
from tests.share.test_texts import CHECK, DIGEST, IMPORT

CONTENTS = {"macOS's": b"\0\5\26\7\0\2\0\0Mac OS X", "an editor's lock": b"me@there.1:2", "a copy": None}


def hide_beside(record: Path, content: bytes | None) -> None:
    """Write hidden files beside a record, with its own content for None."""
    for name in (f"._{record.name}", f".#{record.name}", f".{record.name}"):
        record.with_name(name).write_bytes(record.read_bytes() if content is None else content)


@pytest.mark.parametrize("content", CONTENTS.values(), ids=list(CONTENTS))
def test_hidden_files_are_no_records_of_imports(content: bytes | None, tmp_path: Path) -> None:
    write_json(record := tmp_path / "imports" / f"{DIGEST}.json", IMPORT)
    known = imports(tmp_path)
    assert [each.archive for each in known] == [DIGEST]
    hide_beside(record, content)
    assert imports(tmp_path) == known
    record.unlink()
    assert imports(tmp_path) == []


@pytest.mark.parametrize("content", CONTENTS.values(), ids=list(CONTENTS))
def test_hidden_files_are_no_spot_checks(content: bytes | None, tmp_path: Path) -> None:
    write_json(record := tmp_path / CHECKS.replace("*", "1"), CHECK)
    (check,) = spot_checks(tmp_path)
    assert check.seed == CHECK["seed"]
    hide_beside(record, content)
    assert spot_checks(tmp_path) == [check]
    record.unlink()
    assert spot_checks(tmp_path) == []
