"""Reading and checking audit.json, and its published JSON Schema.

``python -m resaudit.audit.schema`` prints the schema; the site of the documentation has it as ``audit.schema.json``.
"""

import json
from pathlib import Path
from typing import Any

from resaudit.audit.models import Audit
from resaudit.base.commands import run_command
from resaudit.base.errors import ResultsError, TableError
from resaudit.base.models import Untitled, validated


def audit_schema() -> dict[str, Any]:
    """The JSON Schema of audit.json, made from the models."""
    made = Audit.model_json_schema(schema_generator=Untitled)
    head = {"$schema": Untitled.schema_dialect, "$id": "urn:resaudit:audit:4"}
    return head | made | {"title": "resaudit's audit, version 4"}


def read_audit(file: Path) -> Audit:
    """An audit from its file, checked."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise ResultsError(f"cannot read {file} ({error.strerror}); run {run_command()}") from error
    except ValueError as error:
        raise TableError(f"{file} is no JSON ({error}); remove {file} and run again") from error
    return check_audit(content, str(file))


def check_audit(audit: Any, name: str = "audit.json") -> Audit:
    """Validate an audit.

    Args:
        audit: the parsed JSON.
        name: the audit's name in error messages.
    """
    return validated(Audit, audit, f"{name} breaks the schema of an audit: $")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number that JSON has")


if __name__ == "__main__":
    print(json.dumps(audit_schema(), indent=1, ensure_ascii=False))
