"""Oracle: the sentences of every error, read from the source. Sees one reworded, without a code or with lost fields.

``python -m tests.engine.test_sentences`` writes them anew; its difference is to be read in review.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

CHECKOUT = Path(__file__).resolve().parents[2]
SENTENCES = CHECKOUT / "tests" / "frozen" / "sentences.txt"
ERRORS = {"ResauditError", "OtherSettings", "UnplannedTable"}


def raised() -> Iterator[tuple[Path, ast.Call]]:
    """Every error that the source makes, with its file."""
    for file in sorted((CHECKOUT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                yield file, node


def of_call(call: ast.Call) -> tuple[str, str]:
    """The code and the sentence of an error."""
    code, sentence = (ast.literal_eval(argument) for argument in call.args)
    return code, sentence


def sentences() -> str:
    """A line for each error, in the order of codes."""
    return "".join(sorted({"{}: {}\n".format(*of_call(call)) for _, call in raised()}))


def test_every_error_has_a_code_a_sentence_and_its_fields() -> None:
    for file, call in raised():
        where = f"{file}:{call.lineno}"
        code, sentence = of_call(call)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code), where
        named = {re.split(r"[.\[]", name)[0] for _, name, _, _ in Formatter().parse(sentence) if name is not None}
        assert named == {keyword.arg for keyword in call.keywords}, where


def test_sentences_are_those_of_the_golden_file() -> None:
    assert sentences() == SENTENCES.read_text(encoding="utf-8")


def test_codes_in_the_documentation_exist() -> None:
    codes = {of_call(call)[0] for _, call in raised()}
    pages = [page.read_text(encoding="utf-8") for page in sorted((CHECKOUT / "docs").glob("*.md"))]
    named = {code for page in pages for code in re.findall(r"`\[([a-z0-9-]+)\]`", page)}
    assert "other-settings" in named
    assert named <= codes


if __name__ == "__main__":
    SENTENCES.write_text(sentences(), encoding="utf-8")
