"""What an archive's audit says and the audit of its results here does not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from resaudit.audit.schema import check_audit, read_audit
from resaudit.base.errors import ResauditError


def differences(theirs: dict[str, Any], ours: Path) -> list[str]:
    """The verdicts and tables that differ, a line each.

    Args:
        theirs: the archive's ``audit.json``.
        ours: that of this checkout.

    Raises:
        ResauditError: ours is damaged.
    """
    try:
        check_audit(theirs)
    except ResauditError as error:
        return [f"nothing is compared: their audit has another format ({error})"]
    return list(_differing(theirs, read_audit(ours).as_json()))


def _differing(theirs: dict[str, Any], ours: dict[str, Any]) -> Iterator[str]:
    here = {claim["id"]: claim["verdict"] for paper in ours["papers"] for claim in paper["claims"]}
    for paper in theirs["papers"]:
        for claim in paper["claims"]:
            name, verdict = claim["id"], claim["verdict"]
            if "not run" not in (verdict, here.get(name, "not run")) and here[name] != verdict:
                yield f"{name}: their audit says {verdict}, these results say {here[name]}"
    tables = {figure["id"]: figure["sha256"] for paper in ours["papers"] for figure in paper["figures"]}
    for paper in theirs["papers"]:
        for figure in paper["figures"]:
            if tables.get(figure["id"], figure["sha256"]) != figure["sha256"]:
                yield f"{figure['id']}: their table has other bytes than the one drawn from these results"
