"""A figure in words: its settings, deviations from the paper's protocol, assumptions."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from resaudit.base.commands import ANY_FOLDER, resaudit_command, snakemake_command
from resaudit.base.papers import outside_papers, reference_folders
from resaudit.base.text import in_words
from resaudit.data.dataset import Dataset
from resaudit.plan.figure import Assumption, Figure
from resaudit.plan.models import Config


def deviations(figure: Figure, of_paper: Figure) -> list[str]:
    """The settings that differ from the paper's protocol, as ``key value (protocol: value)``."""
    here, there = settings_of(figure), settings_of(of_paper)
    words, protocol = settings_in_words(figure), settings_in_words(of_paper)
    return [
        f"{key} {words.get(key, 'none')} (protocol: {protocol.get(key, 'as the others')})"
        if words.get(key) != protocol.get(key)
        # Two long lists may be abbreviated to the same words.
        else f"{key} {here[key]} (protocol: {there[key]})"
        for key in here
        if here[key] != there[key]
    ]


def note(figure: Figure, of_paper: Figure) -> str:
    """The line under a drawing: its remark, and what differs from the paper's protocol, as "5 of 10 runs"."""
    here, there, words = settings_of(figure), settings_of(of_paper), settings_in_words(figure)
    changed = [key for key in here if here[key] != there[key]]
    sizes = {key: (_size(here[key]), _size(there[key])) for key in changed}
    parts = [
        f"{size} of {whole} {key}" if 0 < size < whole else f"{key} {words.get(key, 'none')}"
        for key, (size, whole) in sizes.items()
    ]
    differs = f"Differs from the protocol: {', '.join(parts)}." if parts else ""
    return f"{figure.remark} {differs}".strip()


def _size(value: Any) -> int:
    """A number of runs, epochs or listed values; 0 for others."""
    value = value.get("everywhere", 0) if isinstance(value, dict) else value
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else 0


def settings_of(figure: Figure) -> dict[str, Any]:
    """Every setting that a figure's numbers depend on, as exact JSON values by name, for comparison."""
    values: dict[str, Any] = {"data": _data(figure.dataset)} if figure.dataset else {}
    values |= {"seed": figure.seed, **(figure.whitening.model_dump() if figure.whitening else {})}
    values |= figure.protocol.model_dump(exclude=set(figure.protocol.of_jobs))
    if "runs_at" in values:
        values["runs"] = {"everywhere": values["runs"], "at": values.pop("runs_at")}
    return {key.replace("_", " "): value for key, value in values.items()}


def settings_in_words(figure: Figure) -> dict[str, str]:
    """All settings in a few words each, without empty ones, for people."""
    values: dict[str, str | None] = {"data": _data(figure.dataset)} if figure.dataset else {}
    values["seed"] = str(figure.seed)
    for section in filter(None, (figure.whitening, figure.protocol)):
        values |= {key: in_words(getattr(section, key)) for key in type(section).model_fields}
    values |= figure.protocol.in_words()
    return {key.replace("_", " "): value for key, value in values.items() if value}


def _data(dataset: Dataset) -> str:
    """A data set's title, with what is read otherwise than usual."""
    others = [f"{key.replace('_', ' ')} {value}" for key, value in dataset.identity.items() if key != "files"]
    return f"{dataset.title} ({', '.join(others)})" if others else dataset.title


def assumed(figure: Figure) -> list[str]:
    """Every assumption with its value, in words."""
    return [f"{name.replace('_', ' ')} {value_of(a, figure)}" for name, a in figure.assumptions.items()]


def value_of(assumption: Assumption, figure: Figure) -> str:
    """The value of an assumption in this figure, in words."""
    if assumption.setting is None:
        return str(assumption.value)
    node: Any = figure
    for part in assumption.setting.split("."):
        node = getattr(node, part)
    return in_words(node)


def command_for(figures: Sequence[str], overrides: Sequence[str], outside: Sequence[str] | None = None) -> str:
    """The command that draws figures.

    Args:
        figures: ``paper/figure`` each.
        overrides: others are replaced by these figures.
        outside: words that add the papers outside; default: one with a folder to be filled in, if a figure needs it,
            for what others read elsewhere.
    """
    others = [each for each in overrides if not each.startswith("figures=") and not _is_committed(each)]
    if outside is None:
        outside = [ANY_FOLDER] if any(figure.split("/")[0] in outside_papers() for figure in figures) else []
    folder = dict(word.split("=", 1) for word in outside[:1])
    return snakemake_command({**folder, "figures": figures, "overrides": [*outside[1:], *others]})


def _is_committed(override: str) -> bool:
    """Whether it takes the committed tables for the figures: nothing is drawn into their folder."""
    key, _, folder = override.partition("=")
    return key == "paths.figures" and Path(folder).resolve() in reference_folders()


def claims_command(paper: str, overrides: Sequence[str]) -> str:
    """The command that prints :func:`claims_sha256` of a paper's claims as they are under these overrides."""
    own_overrides = [override for override in overrides if override.startswith(f"claims.{paper}.")]
    own_overrides += [ANY_FOLDER] if paper in outside_papers() else []
    return resaudit_command("audit", "--claims-sha256", *own_overrides)


def claims_sha256(config: Config, paper: str) -> str:
    """SHA-256 of a paper's claims, with all defaults filled in and each check's name, as canonical JSON.

    What is written after a verdict, findings and responses, is no part of it.
    """
    claims, after = config.claims_of(paper), {"finding", "response"}
    return _sha256({name: claim.model_dump(mode="json", exclude=after) for name, claim in claims.items()})


RULES = 2
"""Version of the rules of judging (docs/intervals.md): 2 has two levels and the verdict ``depends``."""


def judgement_sha256(config: Config, paper: str, name: str) -> str:
    """SHA-256 of what verdicts on a claim are computed from, as canonical JSON.

    The rules of judging are part of it. The claim's words are not, nor are the paper's other claims.
    """
    judged = config.claims_of(paper)[name].model_dump(mode="json", include={"evidence", "checks", "limits", "needs"})
    if not judged["needs"]["followed"]:
        del judged["needs"]["followed"]  # rules recorded before there was this need stay known
    return _sha256({"rules": RULES, "claim": judged})


def _sha256(claims: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(claims, sort_keys=True).encode()).hexdigest()
