"""What a run sets of claims that the repository has otherwise, from both as composed."""

import json
from typing import Any

from resaudit.audit.claim_models import SetForRun
from resaudit.base.text import value_in_words
from resaudit.claims.words import threshold_in_words
from resaudit.plan.claim import Claim

THRESHOLD = ("at_least", "at_most", "within_factor")
NONE = "none"
Settings = dict[str, tuple[str, Any]]
"""By name, in words and as JSON has it."""


def set_for_run(claim: Claim, written: Claim | None) -> list[SetForRun]:
    """The settings of a claim and its checks that are not the repository's, and the checks that one of them lacks.

    Args:
        claim: the claim as composed for this run.
        written: the claim as composed of the repository's files; None: there is none, and nothing is said.
    """
    if written is None:
        return []
    found = _different(_of_claim(claim), _of_claim(written))
    for name in {**claim.checks, **written.checks}:
        here, repository = (each.checks[name].name if name in each.checks else NONE for each in (claim, written))
        if name not in written.checks:
            found.append(SetForRun(what="check", here=here, repository=repository, check=name))
        elif name not in claim.checks:
            found.append(SetForRun(what=f"check {name}", here=here, repository=repository, check=None))
        else:
            found += _different(_of_check(claim, name), _of_check(written, name), name)
    return found


def _of_claim(claim: Claim) -> Settings:
    """Minimum sample, texts and other settings."""
    values = claim.model_dump(mode="json", exclude={"checks", "limits"})
    return _in_words({f"needs {key}": value for key, value in values.pop("needs").items()} | values)


def _of_check(claim: Claim, name: str) -> Settings:
    """Threshold, parameters and limit."""
    check, limit = claim.checks[name], claim.limits.get(name)
    values = check.model_dump(mode="json") | {"limit": limit.model_dump(mode="json") if limit else None}
    bounds = {key: bound for key in THRESHOLD if (bound := values.pop(key)) is not None}
    return {"threshold": (threshold_in_words(check), bounds)} | _in_words(values)


def _in_words(values: dict[str, Any]) -> Settings:
    return {key: (NONE if value in ([], {}, "") else value_in_words(value), value) for key, value in values.items()}


def _different(run: Settings, repository: Settings, check: str | None = None) -> list[SetForRun]:
    different = []
    for key in {**run, **repository}:
        (words, value), (others, other) = (settings.get(key, (NONE, None)) for settings in (run, repository))
        if value != other:
            if words == others:  # they differ in a digit that words do not have
                words, others = (json.dumps(setting, ensure_ascii=False) for setting in (value, other))
            different.append(SetForRun(what=key.replace("_", " "), here=words, repository=others, check=check))
    return different
