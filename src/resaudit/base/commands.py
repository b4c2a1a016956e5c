"""Commands as they are printed: pasted into a shell, each does what is said beside it."""

import re
import shlex
from collections.abc import Mapping, Sequence

from resaudit.base.papers import IN_WHEEL, KEY, root

ANY_FOLDER = f"{KEY}=FOLDER"
"""Stands for the folder of a paper outside, which is in no audit."""
Values = Mapping[str, str | Sequence[str]]
KEYS_OF_THEIR_OWN = ("scale", "device", "dataset", "container")
"""Overrides that are written as keys of ``--config``, as the documentation does."""


def resaudit_command(*words: str) -> str:
    """``resaudit …``."""
    return shlex.join(["resaudit", *words])


def snakemake_command(config: Values, *words: str) -> str:
    """``snakemake --cores all …`` with a ``--config``; without a clone by ``resaudit draw``, which knows the Snakefile.

    >>> print(snakemake_command({"figures": ["fig07"], "overrides": ["scale=paper", "seed=2"]}))
    snakemake --cores all --config scale=paper 'figures=[fig07]' 'overrides=[seed=2]'
    """
    start = ["resaudit", "draw", "--"] if root() == IN_WHEEL else ["snakemake", "--cores", "all"]
    return shlex.join([*start, *snakemake_words(config, *words)])


def run_command(*words: str) -> str:
    """The command of a run, for messages that know no settings.

    >>> print(run_command(), "|", run_command("robustness"))
    snakemake --cores all | snakemake --cores all robustness
    """
    return snakemake_command({}, *words).removesuffix(" --")


def snakemake_words(config: Values, *words: str) -> list[str]:
    """Words and then a ``--config``, whose empty lists are left out.

    Snakemake reads a value as a number, as YAML or as text, in this order, and takes quotes off its ends; so a text
    that needs them is one of the overrides.
    """
    parts = [override.partition("=") for override in config.get("overrides", [])]
    own = {key: value for key, _, value in parts if key in KEYS_OF_THEIR_OWN and _is_plain(value)}
    others = ["".join(part) for part in parts if part[0] not in own]
    config = own | dict(config)
    odd = {key: value for key, value in config.items() if isinstance(value, str) and not _is_plain(value)}
    overrides = [*(f"{key}={value}" for key, value in odd.items()), *others]
    values = {key: value for key, value in config.items() if key not in odd} | {"overrides": overrides}
    pairs = [f"{key}={_for_yaml(value)}" for key, value in values.items() if value]
    return [*words, *(["--config", *pairs] if pairs else [])]


def papers_path(folder: str) -> str:
    """A folder as papers_path has it, in which ~ stands for the home."""
    return f"./{folder}" if folder.startswith("~") else folder


def _for_yaml(value: str | Sequence[str]) -> str:
    """A text or a list as YAML.

    >>> print(_for_yaml("./my_papers"), _for_yaml(["scale=paper", "paths.data=a b, ü", "x=[1]"]))
    ./my_papers [scale=paper,"paths.data=a b, ü","x=[1]"]
    """
    if not isinstance(value, str):
        return f"[{','.join(map(_for_yaml, value))}]"
    if _is_plain(value):
        return value
    letters = (f"\\{x}" if x in '"\\' else x if x.isprintable() else f"\\U{ord(x):08x}" for x in value)
    return f'"{"".join(letters)}"'


def _is_plain(value: str) -> bool:
    """Whether Snakemake and YAML read it as it stands as text."""
    plain = re.fullmatch(r"[A-Za-z_./][\w./=-]*(?: [\w./=-]+)*", value) is not None
    return plain and value not in ("True", "False") and not is_number(value)


def is_number(text: str) -> bool:
    """Whether a text may be read as a number, such as 2024_05, 1e5 or nan."""
    try:
        float(text)
    except ValueError:
        return False
    return True
