"""What an archive says in words, and records of types that no job writes. Oracle: the import of a real archive.

Sees a text that reaches a terminal, a statement or a drawing as more than a printable line, and a provenance, agent or
array that is taken by the import and then ends a later command.
"""

import json
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure as Drawing

from resaudit.base.errors import ArchiveError, ResauditError
from resaudit.base.files import write_json
from resaudit.base.models import Closed, validated
from resaudit.figures.drawing import imported_in_words, save_drawing
from resaudit.jobs.origin import Origin, origin_of
from resaudit.jobs.results import JobProvenance, read_provenance
from resaudit.share.checking import check_arrays
from resaudit.share.packed import METADATA
from resaudit.share.records import Import, imports
from tests.ran import RAN
from tests.refusals import refused
from tests.share.archives import a_job, config_in, with_json
from tests.share.imported import ARCHIVE
from tests.share.test_import import assert_mentions, assert_refused
from tests.share.test_shapes import Stated

ODD_TEXTS = ["a\nb", "\x1b[2J", "a\u202eb", "a\u2066b", "a" * 201, "", "\udc80", "a\0b", "\x9b2J", "a\u2028b", "\x7f"]
DIGEST, TIME = "0" * 64, "2026-11-22T12:00:00+00:00"
ORIGIN = {
    "archive": DIGEST, "by": "A. Person", "code": DIGEST, "accepted_code": DIGEST,
    "machine_class": RAN["machine class"], "kernel": "torch", "sha256": {"counts.npz": DIGEST},
}  # fmt: skip
IMPORT = {
    "archive": DIGEST, "name": "run.zip", "by": "A. Person", "imported": TIME, "jobs": ["train/a"], "kept": ["train/b"],
    "missing": ["train/c"], "differences": [],
}  # fmt: skip
CHECK = {
    "archives": [DIGEST], "seed": "1", "jobs": {}, "checked": 0, "of": 1, "equal": 0, "failed": 0, "covered": [],
    "doubted": [], "when": TIME, "statement": [],
}  # fmt: skip


def texts(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all texts and keys; a key's ends with None."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*place, key, None)
            yield from texts(item, (*place, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from texts(item, (*place, number))
    elif isinstance(value, str):
        yield place


def replaced(valid: Any, place: tuple[Any, ...], by: Any) -> Any:
    """A copy with another value, or another key, at a place."""
    changed = node = json.loads(json.dumps(valid))
    is_key = place[-1] is None
    *path, last = place[:-1] if is_key else place
    for step in path:
        node = node[step]
    if is_key:
        node[by] = node.pop(last)
    else:
        node[last] = by
    return changed


def assert_one_line(error: ResauditError) -> None:
    said = str(error)
    assert said.isprintable()
    assert len(said) < 1000


@pytest.mark.parametrize(("model", "valid"), [(JobProvenance, RAN), (Origin, ORIGIN), (Import, IMPORT)])
def test_every_text_of_a_record_is_a_line(model: type[Closed], valid: Any) -> None:
    validated(model, valid, "it")
    places = list(texts(valid))
    assert len(places) > 3
    for place, odd in product(places, ODD_TEXTS):
        with pytest.raises(ResauditError) as error:
            validated(model, replaced(valid, place, odd), "it")
        assert_one_line(error.value)


WRONG = [True, 5, 1.5, "5", None, [], {}, [1], {"a": 1}, float("nan"), float("inf"), -1, 10**400]


@pytest.mark.parametrize("key", JobProvenance.model_fields)
def test_no_value_of_a_provenance_is_taken_for_one_of_another_type(key: str, tmp_path: Path) -> None:
    """Taken is what the field can be: a device is any text, a job may have taken 5 s or 1.5, and have no kernel."""
    name, file = JobProvenance.model_fields[key].alias or key, tmp_path / "provenance.json"
    may_be = {"seconds": (int, float), "kernel": (str, type(None)), "device": (str,), "python": (str,)}.get(key, ())
    may_be_empty = key in ("packages", "sha256", "inputs", "parts")
    for value in WRONG:
        write_json(file, RAN | {name: value})
        number = not isinstance(value, int | float) or (0 <= value <= 1e10 and value is not True)
        if (isinstance(value, may_be) and number) or (may_be_empty and value == {}):
            read_provenance(tmp_path)
        else:
            with pytest.raises(ResauditError) as e:
                read_provenance(tmp_path)
            assert str(file) in str(e.value)
            assert_one_line(e.value)


@pytest.mark.parametrize(
    "time", ["now", "2026-11-22", "2026-11-22T12:00:00", "2026-13-22T12:00:00Z", "0001-01-01T00:00:00+14:00",
             "9999-12-31T23:59:59-14:00", "2026-11-22T12:00:00+99:00"]
)  # fmt: skip
@pytest.mark.parametrize("key", ["started", "finished"])
def test_a_time_is_one_that_there_is_and_that_can_be_compared(key: str, time: str) -> None:
    with pytest.raises(ResauditError) as error:
        validated(JobProvenance, RAN | {key: time}, "it")
    assert f"it.{key} is " in str(error.value)


@pytest.mark.parametrize(
    ("key", "value"),
    [("device", "a\nb"), ("kernel", 5), ("kernel", "\x1b[2J"), ("seconds", "1"), ("finished", "now"),
     ("note", "\u202e"), ("a\nkey", 1), ("machine class", {}),
     ("machine class", {"device": ["cpu"]}), ("system", "x" * 201)],
)  # fmt: skip
def test_an_archive_with_such_a_provenance_is_refused(key: str, value: Any, archive: Path, tmp_path: Path) -> None:
    changes = {f"results/{a_job(archive)}/provenance.json": lambda ran: ran.update({key: value})}
    assert_mentions(with_json(archive, tmp_path / "bad.zip", changes), config_in(tmp_path), "provenance.json")


@pytest.mark.parametrize("name", [*ODD_TEXTS, "a" * 171, " ", " a", "a ", "<a>", 5, None, ["a"]], ids=ascii)
def test_an_agent_with_such_a_name_is_refused(name: Any, archive: Path, tmp_path: Path) -> None:
    def rename(metadata: Any) -> None:
        for entity in metadata["@graph"]:
            if entity["@type"] == "Person" and entity.get("name") == "Ada Lovelace":
                entity["name"] = name

    bad = with_json(archive, tmp_path / "bad.zip", {METADATA: rename})
    assert_mentions(bad, config_in(tmp_path), "agent.name")


@pytest.mark.parametrize("name", ["a\nb.zip", "\x1b[2J.zip", "a\u202eb.zip"], ids=ascii)
def test_an_archive_with_such_a_file_name_is_refused(name: str, archive: Path, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(archive.read_bytes())
    assert_refused(tmp_path / name, config_in(tmp_path), ArchiveError)


@pytest.mark.parametrize("name", ["A$AP", "$x^2$", "$\\frac{", "a_b^c", "\\alpha", "100 %", "李 <0000-0002-1825-0097>"])
def test_an_agent_of_any_name_is_drawn(name: str, tmp_path: Path) -> None:
    drawing = Drawing(figsize=(4, 3), layout="constrained")
    note = imported_in_words([{"archive": ARCHIVE, "by": name, "jobs": ["train/a"]}], 4)
    save_drawing(drawing, tmp_path, "figure", "Title", "words", note)
    assert {path.suffix for path in tmp_path.iterdir()} == {".pdf", ".svg", ".png"}


@pytest.mark.parametrize("odd", ODD_TEXTS, ids=ascii)
def test_a_text_in_an_array_is_a_line_or_empty(odd: str, tmp_path: Path) -> None:
    path, others = tmp_path / "result.npz", {"heads": np.zeros((3, 2), bool), "loss": np.zeros(2, np.float32)}
    np.savez(path, names=np.array(["a", odd]), free=np.array(1), **others)
    if not odd:
        check_arrays(path, Stated(3))
        return
    with refused(ArchiveError, path) as error:
        check_arrays(path, Stated(3))
    assert_one_line(error.value)


def test_letters_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    path, others = tmp_path / "result.npz", {"heads": np.zeros((3, 2), bool), "loss": np.zeros(2, np.float32)}
    np.savez(path, names=np.array([0xFFFFFFFF, 0x110000], np.uint32).view("U1"), free=np.array(1), **others)
    with pytest.raises(ResauditError) as error:
        check_arrays(path, Stated(3))
    assert_one_line(error.value)


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize("odd", ODD_TEXTS[:4], ids=ascii)
@pytest.mark.parametrize("make", [lambda odd: {odd: 1}, lambda odd: {"a": odd}, lambda odd: [[odd]]])
def test_every_text_of_the_metadata_that_an_error_quotes_is_escaped(
    make: Callable[[str], Any], odd: str, archive: Path, tmp_path: Path
) -> None:
    def put(metadata: Any) -> None:
        metadata["@graph"].append({"@id": odd, "@type": "File", "sha256": make(odd), "contentSize": "1"})

    assert_mentions(with_json(archive, tmp_path / "bad.zip", {METADATA: put}), config_in(tmp_path), METADATA)


def test_records_of_imports_with_such_texts_are_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "train" / "a" / "imported.json", ORIGIN | {"by": "a\nb"})
    write_json(tmp_path / "imports" / f"{DIGEST}.json", IMPORT | {"name": "\x1b[2J.zip"})
    for read in (lambda: origin_of(tmp_path, "train/a"), lambda: imports(tmp_path)):
        with pytest.raises(ResauditError) as error:
            read()
        assert_one_line(error.value)
