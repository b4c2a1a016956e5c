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
        claim: as composed for this run.
        name: of the check.
        written: the claim as composed of the repository's files; None: there is none, and nothing is said.
    """
    if written is None:
        return []
    if name not in written.checks:
        return [SetForRun(what="check", here=claim.checks[name].name, repository=NONE)]

    def settings(of: Claim) -> Settings:
        check, limit = of.checks[name], of.limits.get(name)
        given = check.model_dump(mode="json") | {"limit": limit.model_dump(mode="json") if limit else None}
        bounds = {key: bound for key in THRESHOLD if (bound := given.pop(key)) is not None}
        return {"threshold": (threshold_in_words(check), bounds)} | _said(given)

    return _different(settings(claim), settings(written))


def of_claim(claim: Claim, written: Claim | None) -> list[SetForRun]:
    """The least evidence, texts and other settings of a claim that are not the repository's, and checks taken out."""
    if written is None:
        return []

    def settings(of: Claim) -> Settings:
        given = of.model_dump(mode="json", exclude={"checks", "limits"})
        return _said({f"needs {key}": value for key, value in given.pop("needs").items()} | given)

    gone = [
        SetForRun(what=f"check {name}", here=NONE, repository=check.name)
        for name, check in written.checks.items()
        if name not in claim.checks
    ]
    return _different(settings(claim), settings(written)) + gone


def _said(given: dict[str, Any]) -> Settings:
    return {key: (NONE if value in ([], {}, "") else value_in_words(value), value) for key, value in given.items()}


def _different(here: Settings, there: Settings) -> list[SetForRun]:
    found = []
    for key in {**here, **there}:
        (words, value), (others, other) = (of.get(key, (NONE, None)) for of in (here, there))
        if value != other:
            if words == others:  # they differ in a digit that words do not have
                words, others = (json.dumps(each, ensure_ascii=False) for each in (value, other))
            found.append(SetForRun(what=key.replace("_", " "), here=words, repository=others))
    return found
