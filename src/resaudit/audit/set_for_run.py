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


def of_check(claim: Claim, name: str, written: Claim | None) -> list[SetForRun]:
    """The threshold, parameters and limit of a check that are not the repository's.

    Args:
        claim: the claim as composed for this run.
        name: the check's name.
        written: the claim as composed of the repository's files; None: there is none, and nothing is said.
    """
    if written is None:
        return []
    if name not in written.checks:
        return [SetForRun(what="check", here=claim.checks[name].name, repository=NONE)]

    def settings(claim: Claim) -> Settings:
        check, limit = claim.checks[name], claim.limits.get(name)
        values = check.model_dump(mode="json") | {"limit": limit.model_dump(mode="json") if limit else None}
        bounds = {key: bound for key in THRESHOLD if (bound := values.pop(key)) is not None}
        return {"threshold": (threshold_in_words(check), bounds)} | _in_words(values)

    return _different(settings(claim), settings(written))


def of_claim(claim: Claim, written: Claim | None) -> list[SetForRun]:
    """The minimum sample, texts and other settings of a claim that are not the repository's, and checks taken out."""
    if written is None:
        return []

    def settings(claim: Claim) -> Settings:
        values = claim.model_dump(mode="json", exclude={"checks", "limits"})
        return _in_words({f"needs {key}": value for key, value in values.pop("needs").items()} | values)

    gone = [
        SetForRun(what=f"check {name}", here=NONE, repository=check.name)
        for name, check in written.checks.items()
        if name not in claim.checks
    ]
    return _different(settings(claim), settings(written)) + gone


def _in_words(values: dict[str, Any]) -> Settings:
    return {key: (NONE if value in ([], {}, "") else value_in_words(value), value) for key, value in values.items()}


def _different(run: Settings, repository: Settings) -> list[SetForRun]:
    different = []
    for key in {**run, **repository}:
        (words, value), (others, other) = (settings.get(key, (NONE, None)) for settings in (run, repository))
        if value != other:
            if words == others:  # they differ in a digit that words do not have
                words, others = (json.dumps(setting, ensure_ascii=False) for setting in (value, other))
            different.append(SetForRun(what=key.replace("_", " "), here=words, repository=others))
    return different
