"""The structure of the source in numbers: ``python benchmarks/structure.py``; docs/architecture.md has them."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import grimp

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGES = ("resaudit", "residual")
SOURCES = ("*.py", "*.c", "*.h", "*.j2", "*.html", "*.css", "*.js", "*.json")
PHRASE = re.compile(r"[A-Za-z]+[ ,:;]+[A-Za-z]+[ ,:;]+[A-Za-z]+")


def files(*patterns: str, under: str = "src") -> list[Path]:
    """The files of the checkout with these names."""
    return sorted(file for pattern in patterns for file in (CHECKOUT / under).rglob(pattern) if "egg" not in str(file))


def lines(*patterns: str, under: str = "src") -> int:
    """Lines of files."""
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files(*patterns, under=under))


def trees(under: str = "src") -> Iterator[ast.Module]:
    """The syntax tree of every module."""
    return (ast.parse(file.read_text(encoding="utf-8")) for file in files("*.py", under=under))


def longest_chain() -> int:
    """Modules of the longest chain of imports at module level and inside functions, without those for types alone."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None, exclude_type_checking_imports=True)
    open_: set[str] = set()

    @cache
    def below(module: str) -> int:
        open_.add(module)
        depths = [below(each) for each in graph.find_modules_directly_imported_by(module) if each not in open_]
        open_.discard(module)
        return 1 + max(depths, default=0)

    return max(below(module) for module in graph.modules)


def called_once() -> tuple[int, int]:
    """Private functions of modules that one place calls, and all of them."""
    once = every = 0
    for tree in trees():
        private = {each.name for each in tree.body if isinstance(each, ast.FunctionDef) and each.name.startswith("_")}
        named = Counter(each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id in private)
        every += len(private)
        once += sum(named[name] == 1 for name in private)
    return once, every


def pinning() -> tuple[int, int]:
    """Tests that assert a phrase of three words or more, and all tests."""
    tests = [
        each
        for tree in trees("tests")
        for each in ast.walk(tree)
        if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")
    ]

    def phrases(node: ast.AST) -> Iterator[str]:
        return (
            each.value
            for part in ast.walk(node)
            if isinstance(part, ast.Assert) or (isinstance(part, ast.keyword) and part.arg in ("match", "message"))
            for each in ast.walk(part)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )

    return sum(any(PHRASE.search(text) for text in phrases(test)) for test in tests), len(tests)


def main() -> None:
    """Print every number."""
    for package in PACKAGES:
        print(f"{package}: {lines(*SOURCES, under=f'src/{package}')} lines")
    print(f"tests: {lines('*.py', under='tests')} lines")
    print(f"longest chain of imports: {longest_chain()} modules")
    names = Counter(each.name for tree in trees() for each in tree.body if isinstance(each, ast.ClassDef))
    twice = sorted(name for name, count in names.items() if count > 1)
    print(f"classes: {len(names)}; names defined more than once: {len(twice)}: {', '.join(twice)}")
    print("private functions called once: {} of {}".format(*called_once()))
    print("tests that assert a phrase of three words: {} of {}".format(*pinning()))
    prose = [CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/RESULTS.md")]
    prose += [*files("*.md", under="docs"), *files("*.md", under="profiles")]
    print(f"words of prose: {sum(len(file.read_text(encoding='utf-8').split()) for file in prose)}")


if __name__ == "__main__":
    main()
