"""The skeleton of a paper outside this repository, which runs as it is: ``resaudit new paper NAME``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from resaudit.base.commands import papers_path, snakemake_command
from resaudit.base.errors import ResauditError
from resaudit.base.papers import KEY, check_name

_FILES = Path(__file__).parent / "files"


def write_paper(name: str, folder: Path) -> list[Path]:
    """Write ``FOLDER/config/paper/NAME`` and ``FOLDER/NAME``, all or nothing.

    Returns:
        The files.

    Raises:
        ResauditError: one of the folders exists or cannot be written, or a paper cannot have this name.
    """
    parts = {"yaml": folder / "config" / "paper" / name, "py": folder / name}
    for part in parts.values():
        if part.exists():
            raise ResauditError(f"{part} exists; choose another name or --into another folder")
    check_name(name)
    command = snakemake_command({KEY: papers_path(str(folder)), "figures": [f"{name}/fig01"]})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".new-") as staging:
            for kind, part in parts.items():
                (Path(staging) / kind).mkdir()
                _render(kind, Path(staging) / kind, {"name": name, "command": command})
                part.parent.mkdir(parents=True, exist_ok=True)
            for kind, part in parts.items():
                (Path(staging) / kind).rename(part)
    except OSError as error:
        raise ResauditError(f"cannot write into {folder}: {error.strerror}; choose another with --into") from error
    return [file for part in parts.values() for file in sorted(part.iterdir())]


def _render(kind: str, folder: Path, values: dict[str, str]) -> None:
    templates = Environment(
        loader=FileSystemLoader(_FILES), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    for template in sorted(_FILES.glob(f"*.{kind}.j2")):
        text = templates.get_template(template.name).render(values)
        (folder / template.stem).write_text(text, encoding="utf-8")
