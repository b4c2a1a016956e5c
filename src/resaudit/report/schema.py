"""audit.json and the published JSON Schema that it keeps to."""

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from resaudit.errors import ResauditError

LONGEST_REASON = 200


@cache
def audit_schema() -> dict[str, Any]:
    """The JSON Schema of audit.json."""
    text = files("resaudit.report").joinpath("audit.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def read_audit(file: Path) -> dict[str, Any]:
    """An audit from its file, checked.

    Raises:
        ResauditError: the file is missing, no JSON, or not as the schema says.
    """
    try:
        audit = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise ResauditError(f"cannot read {file} ({error.strerror}); make the audit first (resaudit report)") from error
    except ValueError as error:
        raise ResauditError(f"{file} is no JSON ({error}); remove {file} and run again") from error
    check_audit(audit, str(file))
    checked: dict[str, Any] = audit
    return checked


def check_audit(audit: Any, name: str = "audit.json") -> None:
    """See that an audit is as the schema says.

    Args:
        audit: parsed JSON.
        name: what an error calls it.

    Raises:
        ResauditError: it is not; the line names the place and what is wrong there.
    """
    error = best_match(Draft202012Validator(audit_schema()).iter_errors(audit))
    if error is not None:
        reason = " ".join(error.message.split())
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]} …"
        raise ResauditError(f"{name} breaks the schema of an audit at {error.json_path}: {reason}")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number that JSON has")
