"""The skeleton of a paper outside this repository, which runs as it is: ``resaudit new paper NAME``."""

from pathlib import Path
from tempfile import TemporaryDirectory

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from resaudit.base.errors import ConfigError, MachineError
from resaudit.base.papers import check_name

_FILES = Path(__file__).parent / "files"


def write_paper(name: str, folder: Path) -> list[Path]:
    """Write ``FOLDER/config/paper/NAME`` and ``FOLDER/NAME``, all or nothing.

    Returns:
        The files.
    """
    folders = {"yaml": folder / "config" / "paper" / name, "py": folder / name}
    for target in folders.values():
        if target.exists():
            raise ConfigError(f"{target} exists; choose another name or --into another folder")
    check_name(name)
    templates = Environment(
        loader=FileSystemLoader(_FILES), undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".new-") as staging:
            for kind, target in folders.items():
                (Path(staging) / kind).mkdir()
                for template in sorted(_FILES.glob(f"*.{kind}.j2")):
                    text = templates.get_template(template.name).render(name=name)
                    (Path(staging) / kind / template.stem).write_text(text, encoding="utf-8")
                target.parent.mkdir(parents=True, exist_ok=True)
            for kind, target in folders.items():
                (Path(staging) / kind).rename(target)
    except OSError as error:
        raise MachineError(f"cannot write into {folder}: {error.strerror}; choose another with --into") from error
    return [file for target in folders.values() for file in sorted(target.iterdir())]
