"""Oracle: positions and files made by hand. Sees an axis that misplaces, an SVG that reaches out of its figure."""

import base64
import gzip
import hashlib
import json
import math
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from resaudit.audit.build import make_audit
from resaudit.audit.page import (
    LARGEST_PACKED_CSV,
    LARGEST_PLAIN_CSV,
    MARGIN,
    Axis,
    axis_of,
    download,
    labelled_ticks,
    mark,
    picture,
    region,
)
from resaudit.base.errors import TableError
from resaudit.claims.checks.runs import AgainstBounds, MeanOfRuns
from resaudit.claims.records import CheckResult, Comparison
from resaudit.claims.verdicts import judge
from resaudit.figures.draw import reference_file
from resaudit.plan.claim import Check
from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from tests.audit.example import point, result, two_sided, unknown
from tests.claims.made import claim
from tests.refusals import refused

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg" width="288pt" viewBox="0 0 2 2">
<metadata><a xmlns="urn:x"/></metadata><script>alert(1)</script><style>*{stroke-linecap: butt}</style>
<defs><path id="m" d="M 0 0"/><clipPath id="c"/></defs><foreignObject/><e xmlns="urn:x"/>
<use xlink:href="#m" style="clip-path: url(#c); fill: #fff;onload: x;a onload=alert(1): x" onclick="alert(1)"
xmlns:y="urn:y" y:z="1"/><g clip-path="url('#c')"/>
<image xlink:href="http://example.org/x.png"/><image xlink:href="data:image/png;base64,AA"/></svg>"""


def test_an_svg_keeps_to_itself(tmp_path: Path) -> None:
    file = tmp_path / "a.svg"
    file.write_text(SVG, encoding="utf-8")
    made = picture(file, "paper/fig04", 'a "label"')
    root = ElementTree.fromstring(made.svg)
    assert [child.tag for child in root] == ["defs", "use", "g", "image", "image"]
    assert root.attrib == {
        "viewBox": "0 0 2 2", "id": "paper-fig04", "role": "img", "aria-label": 'a "label"',
        "stroke-linejoin": "round", "stroke-linecap": "butt",
    }  # fmt: skip
    defs, use, g, outside, inside = root
    assert [child.get("id") for child in defs] == ["paper-fig04-m", "paper-fig04-c"]
    assert use.attrib == {"href": "#paper-fig04-m", "clip-path": "url(#paper-fig04-c)", "fill": "#fff"}
    assert g.attrib == {"clip-path": "url(#paper-fig04-c)"}
    assert (outside.attrib, inside.attrib) == ({}, {"href": "data:image/png;base64,AA"})
    assert (made.width, made.id, made.shape) == (384, "paper-fig04", "2 / 2")


def test_what_is_no_svg_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("<svg", encoding="utf-8")
    with refused(TableError, tmp_path / "a.svg"):
        picture(tmp_path / "a.svg", "paper/a", "")


def test_a_table_that_is_too_large_to_send_is_only_named(tmp_path: Path) -> None:
    (tmp_path / "fig.csv").write_bytes(os.urandom(LARGEST_PACKED_CSV + 1))
    made = download(tmp_path / "fig.csv", hashlib.sha256((tmp_path / "fig.csv").read_bytes()).hexdigest())
    assert (made.uri, made.size) == ("", LARGEST_PACKED_CSV + 1)


@pytest.mark.parametrize("size", [10, LARGEST_PLAIN_CSV + 1])
def test_a_download_gives_the_table_back(size: int, tmp_path: Path) -> None:
    file = tmp_path / "paper" / "fig.csv"
    file.parent.mkdir()
    file.write_bytes(b"1" * size)
    made = download(file, hashlib.sha256(file.read_bytes()).hexdigest())
    content = base64.b64decode(made.uri.split(",")[1])
    packed = made.name == "paper-fig.csv.gz"
    assert packed == (size > LARGEST_PLAIN_CSV)
    assert (gzip.decompress(content) if packed else content) == file.read_bytes()
    assert made.size == size
    assert made == download(file, hashlib.sha256(file.read_bytes()).hexdigest())


def test_places_are_shares_of_the_axis_between_its_margins() -> None:
    linear, logarithmic = Axis(False, 0, 10), Axis(True, 0, 2)
    assert [linear.place(x) for x in (0, 5, 10)] == [MARGIN, 50, 100 - MARGIN]
    assert [logarithmic.place(x) for x in (1, 10, 100)] == [MARGIN, 50, 100 - MARGIN]
    assert (logarithmic.place(0), logarithmic.place(-1), linear.place(1e9)) == (0, 0, 100)
    assert Axis(False, 3, 3).place(3) == 50


def test_an_axis_holds_points_intervals_and_the_region() -> None:
    axis = axis_of(CheckResult.model_validate(two_sided()))
    assert axis is not None
    assert axis.logarithmic
    assert (10**axis.start, 10**axis.end) == (pytest.approx(1.01), pytest.approx(2.3e9))
    assert axis_of(CheckResult.model_validate(unknown())) is None
    # A threshold of zero has no place on a logarithmic axis, and stretches it to no length.
    zero = axis_of(CheckResult.model_validate(result("supported", 2) | {"region": [0.0, 1.1]}))
    assert zero is not None
    assert 10**zero.start == pytest.approx(0.95)


def test_an_interval_without_an_end_reaches_the_edge_with_an_arrow() -> None:
    axis = Axis(False, 0, 10)
    both, none, right = (
        mark(Comparison.model_validate(point("", 5.0, *ends, "supported")), axis)
        for ends in ((0.0, 10.0), ("-Infinity", "Infinity"), (5.0, "Infinity"))
    )
    assert both.line == (MARGIN, 100 - MARGIN)
    assert (both.open_left, both.open_right) == (False, False)
    assert none.line is None
    assert right.line == (50, 100)
    assert (right.open_left, right.open_right) == (False, True)
    assert mark(Comparison.model_validate(point("", "NaN", "-Infinity", 5.0, "supported")), axis).effect is None
    below = CheckResult.model_validate(result("supported", 1) | {"region": ["-Infinity", 5.0]})
    assert region(below, axis) == (0, 50)


def found(check: Check, values: list[float]) -> CheckResult:
    table = pd.DataFrame({"network": "a", "run": range(len(values)), "norm": values})
    judged = judge(claim(check, runs=3), table, "laptop").checks[0]
    read = CheckResult.model_validate_json(judged.model_dump_json())
    assert read == judged
    return read


def test_runs_that_diverge_have_an_infinite_effect_in_words_and_in_the_drawing() -> None:
    mean = MeanOfRuns(column="norm", per=["network"], at_most=1)
    one, two = found(mean, [1.0, 2.0, 3.0, math.inf]), found(mean, [1.0, 2.0, math.inf, math.inf])
    assert [each.points[0].numbers for each in (one, two)] == [(math.inf, 2.0, None), (math.inf,) * 3]
    assert [each.worst_in_words for each in (one, two)] == [("infinite", "at least 2"), ("infinite", "infinite")]
    assert [each.turns[0].everywhere for each in (one, two)] == [None, "contradicted"]
    axis = axis_of(two)
    assert axis is not None
    drawn = mark(two.points[0], axis)
    assert (drawn.effect, drawn.line, drawn.open_left, drawn.open_right) == (100, (100, 100), False, True)


def test_a_check_that_lacks_a_place_is_supported_at_no_threshold() -> None:
    check = AgainstBounds(column="norm", by="network", bounds={"a": 2.0, "b": 3.0}, at_most=1)
    assert [turns.supported for turns in found(check, [0.9, 1.0, 1.1]).turns] == [math.inf]


def test_an_end_that_one_run_cannot_have_is_text_not_a_number_that_json_lacks() -> None:
    mean = MeanOfRuns(column="norm", per=["network"], at_most=1)
    table = pd.DataFrame({"network": ["a"], "run": [0], "norm": [0.5]})
    told = judge(claim(mean, runs=1), table, "laptop").checks[0].model_dump_json()
    (point,) = json.loads(told, parse_constant=pytest.fail)["points"]
    assert (point["effect"], point["low"], point["high"]) == (0.5, 0.0, "Infinity")


@pytest.mark.parametrize(
    ("axis", "labels"),
    [
        (Axis(False, 0, 10), ["0", "2.5", "5", "7.5", "10"]),
        (Axis(False, -0.3, 0.3), ["−0.2", "0", "0.2"]),
        (Axis(True, 0, 9.4), ["1", "1000", "10⁶", "10⁹"]),
        (Axis(False, 2, 2), ["2"]),
    ],
)
def test_ticks_are_few_and_round(axis: Axis, labels: list[str]) -> None:
    assert [label for _, label in labelled_ticks(axis)] == labels


def test_the_depth_of_an_edge_is_the_last_word_of_its_place(tmp_path: Path) -> None:
    """Sees a network's name taken apart at its first space."""
    name = "demystifying_resnet/fig04"
    shutil.copytree(reference_file(name).parent, tmp_path / "demystifying_resnet")
    record = tmp_path / f"{name}.json"
    best = {"shown": 0.1, "tied": [0.1], "at_edge": True, "still_falling": False}
    places = {"xavier 96": best, "c = 0.5, with tau 4": best}
    record.write_text(json.dumps(json.loads(record.read_text()) | {"best rates": places}))
    audit = make_audit(make_plan(load([f"paths.figures={tmp_path}"])), (), only={name}, refuse_others=False)
    assert audit.figures[0].at_edge == ["xavier at depth 96", "c = 0.5, with tau at depth 4"]
