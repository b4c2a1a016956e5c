"""How far a reader is from the science: ``python benchmarks/structure.py``; docs/architecture.md has its numbers."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
ENGINE, GUESTS = "src/resaudit", "src/residual"
SOURCES = ("*.py", "*.c", "*.h", "*.j2", "*.html", "*.css", "*.js", "*.json")
LONG = 30
"""Words of a sentence that is too long."""


def files(*patterns: str, under: str = "src") -> list[Path]:
    """The files of the checkout with these names."""
    return sorted(file for pattern in patterns for file in (CHECKOUT / under).rglob(pattern) if "egg" not in str(file))


def lines(file: Path) -> list[str]:
    """The lines of a file."""
    return file.read_text(encoding="utf-8").splitlines()


def share_of_bodies(under: str) -> float:
    """Lines that are no docstring, signature, import or blank, over all lines of modules."""
    bodies = every = 0
    for file in files("*.py", under=under):
        text, other = lines(file), set[int]()
        for node in ast.walk(ast.parse("\n".join(text))):
            if isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node):
                other |= set(range(node.lineno, (node.end_lineno or 0) + 1))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                other |= set(range(first, node.body[0].lineno))
        bodies += sum(bool(line.strip()) and number not in other for number, line in enumerate(text, 1))
        every += len(text)
    return bodies / every


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a docstring, of whatever."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def imported_from_engine() -> set[tuple[str, str]]:
    """The modules and names of the engine that guests import."""
    return {
        (node.module, each.name)
        for file in files("*.py", under=GUESTS)
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "resaudit"
        for each in node.names
    }


def error_classes() -> int:
    """The classes of errors that users read."""
    tree = ast.parse((CHECKOUT / ENGINE / "base" / "errors.py").read_text(encoding="utf-8"))
    return sum(isinstance(node, ast.ClassDef) for node in tree.body)


def sentences(files: list[Path]) -> Iterator[list[str]]:
    """The words of each sentence of prose: no tables, headings, lists of links or code."""
    for file in files:
        text = re.sub(r"```.*?```|<!--.*?-->", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        for part in re.split(r"\n\s*\n|\n(?=[-*#|>] ?)", text):
            if not re.match(r"[#|`>]", part.lstrip()):
                yield from (each.split() for each in re.split(r"(?<=[.!?])\s+", part) if each.strip())


def main() -> None:
    """Print every number."""
    for page in sorted((CHECKOUT / GUESTS).glob("*/plain.py")):
        print(f"{page.parent.name}: {len(lines(page))} lines for network and training")
    source = files(*SOURCES)
    print(f"source: {len(source)} files, {sum(len(lines(file)) for file in source)} lines")
    engine, guests = share_of_bodies(ENGINE), share_of_bodies(GUESTS)
    print(f"lines that are bodies of code: {engine:.2f} of the engine's, {guests:.2f} of the papers'")
    names = imported_from_engine()
    print(f"papers import {len(names)} names from {len({module for module, _ in names})} modules of the engine")
    print(f"classes of errors: {error_classes()}")
    prose = [CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/RESULTS.md")]
    prose += [*files("*.md", under="docs"), *files("*.md", under="profiles")]
    counts = [len(words) for words in sentences(prose)]
    long = sum(count > LONG for count in counts) / len(counts)
    words = sum(len(file.read_text(encoding="utf-8").split()) for file in prose)
    print(f"prose: {words} words; {long:.0%} of sentences have more than {LONG}")


if __name__ == "__main__":
    main()
