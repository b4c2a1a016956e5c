"""What a run sets of claims that the repository has otherwise, from both as composed."""

import json
from collections.abc import Iterator
from typing import Any

from resaudit.audit.claim_models import SetForRun
from resaudit.base.text import in_words
from resaudit.claims.words import threshold_in_words
from resaudit.plan.check import Check
from resaudit.plan.claim import Claim

THRESHOLD = ("at_least", "at_most", "within_factor")
NONE = "none"


def of_check(claim: Claim, name: str, written: Claim | None) -> list[SetForRun]:
    """The threshold, parameters and limit of a check that are not the repository's, as ``SetForRun`` has them.

    Args:
        claim: as composed for this run.
        name: of the check.
        written: the claim as composed of the repository's files; None: there is none, and nothing is said.
    """
    if written is None:
        return []
    here, there = claim.checks[name], written.checks.get(name)
    if there is None:
        return [SetForRun(what="check", here=here.name, repository=NONE)]
    found = [] if here.name == there.name else [SetForRun(what="check", here=here.name, repository=there.name)]
    given, other = here.model_dump(mode="json"), there.model_dump(mode="json")
    if any(given[key] != other[key] for key in THRESHOLD):
        found.append(_threshold(here, there))
    keys = [key for key in {**given, **other} if key not in THRESHOLD]
    found += _different({key: given.get(key) for key in keys}, {key: other.get(key) for key in keys})
    limits = (each.limits.get(name) for each in (claim, written))
    return found + list(_different(*({"limit": limit.model_dump(mode="json") if limit else None} for limit in limits)))


def of_claim(claim: Claim, written: Claim | None) -> list[SetForRun]:
    """The least evidence, texts and other settings of a claim that are not the repository's, and checks taken out."""
    if written is None:
        return []
    found: list[SetForRun] = []
    given, other = (each.model_dump(mode="json", exclude={"checks", "limits"}) for each in (claim, written))
    for key, value in given.items():
        if key == "needs":
            found += _different(*({f"needs {part}": of for part, of in each[key].items()} for each in (given, other)))
        else:
            found += _different({key: value}, {key: other[key]})
    gone = [name for name in written.checks if name not in claim.checks]
    return found + [SetForRun(what=f"check {name}", here=NONE, repository=written.checks[name].name) for name in gone]


def _threshold(here: Check, there: Check) -> SetForRun:
    words = [threshold_in_words(each) for each in (here, there)]
    if words[0] == words[1]:  # they differ in a digit that words do not have
        bounds = ({key: getattr(each, key) for key in THRESHOLD} for each in (here, there))
        words = [_exactly({key: bound for key, bound in of.items() if bound is not None}) for of in bounds]
    return SetForRun(what="threshold", here=words[0], repository=words[1])


def _different(here: dict[str, Any], there: dict[str, Any]) -> Iterator[SetForRun]:
    for key, value in here.items():
        if value != there[key]:
            words = [_said(each) for each in (value, there[key])]
            if words[0] == words[1]:
                words = [_exactly(each) for each in (value, there[key])]
            yield SetForRun(what=key.replace("_", " "), here=words[0], repository=words[1])


def _said(value: Any) -> str:
    return NONE if value in ([], {}, "") else in_words(value)


def _exactly(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
