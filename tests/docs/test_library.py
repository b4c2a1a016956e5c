"""Oracle: docs/library.md, run as it stands. Sees a public name that has moved, and an example that does not work."""

import doctest
import importlib
import re
from pathlib import Path

import pytest
from sybil import Document
from sybil.parsers.myst import PythonCodeBlockParser

import resaudit.paper
from resaudit.base.door import offered
from tests.conftest import CHECKOUT

PAGE = CHECKOUT / "docs" / "library.md"


@pytest.mark.usefixtures("no_paper_stays")
def test_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    document = Document.parse(str(PAGE), PythonCodeBlockParser(doctest_optionflags=doctest.NORMALIZE_WHITESPACE))
    document.namespace["folder"] = tmp_path
    ran = [example.evaluate() for example in document.examples()]
    assert len(ran) > 20


def test_every_public_name_is_there() -> None:
    names = re.findall(r"`(resaudit\.[\w.]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(names) > 20
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__, name


def test_every_name_at_the_door_of_papers_is_there() -> None:
    names = offered((CHECKOUT / "src" / "resaudit" / "paper.py").read_text(encoding="utf-8"))
    assert len(names) > 20
    assert all(getattr(resaudit.paper, name) is not None for name in names)
    with pytest.raises(AttributeError, match="nothing"):
        _ = resaudit.paper.nothing
