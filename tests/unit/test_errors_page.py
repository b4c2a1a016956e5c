"""Oracle: the source. Sees an error that docs/errors.md does not explain, and an explanation of one that is gone."""

import ast
import re
from collections.abc import Iterator

from tests.conftest import CHECKOUT

RAISED = {"ResauditError", "Refused", "Interrupted"}
ROW = re.compile(r"^\| `(?P<message>[^`]+)` \| (?P<where>[\w./]+) \| (?P<cause>[^|]+) \| (?P<remedy>[^|]+) \|$")
Key = tuple[str, str]


def words(node: ast.expr) -> list[str]:
    """What a message says, by its alternatives, with … for what is put in."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            said = "".join(value.value if isinstance(value, ast.Constant) else "…" for value in values)
            return [said]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return [a + b for a in words(left) for b in words(right)]
        case ast.IfExp(body=body, orelse=orelse):
            return [*words(body), *words(orelse)]
    return ["…"]


def messages() -> Iterator[Key]:
    """Every message that the source can raise, with its module."""
    source = CHECKOUT / "src" / "resaudit"
    for file in sorted(source.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
                # An interruption's first argument is the signal.
                for said in words(node.args[-1]):
                    yield file.relative_to(source).as_posix(), said.replace("`", "'").replace("|", "/")


def explained() -> Iterator[Key]:
    for line in (CHECKOUT / "docs" / "errors.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            row = ROW.match(line)
            assert row, f"not a row of four: {line}"
            assert row["cause"].strip() not in ("", "…")
            assert row["remedy"].strip() not in ("", "…")
            yield row["where"], row["message"]


def test_every_error_is_explained_and_none_that_is_gone() -> None:
    raised, told = set(messages()), list(explained())
    assert len(raised) > 100
    assert len(told) == len(set(told)), "an error stands there twice"
    assert raised - set(told) == set(), "add these to docs/errors.md"
    assert set(told) - raised == set(), "these are no longer raised"


def test_the_reader_of_messages_reads_what_is_raised() -> None:
    code = 'raise ResauditError(f"a {b!r} c" if d else "e" + f"{f} g")'
    (node,) = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Call)]
    assert words(node.args[0]) == ["a … c", "e… g"]
