"""roc-validator, which implements the profiles' own rules, on a crate: the judge of what write_crate writes."""

import io
from pathlib import Path

import requests
import requests_cache
import urllib3
from rocrate_validator.models import Severity, ValidationResult, ValidationSettings
from rocrate_validator.services import validate

PROFILE = "workflow-run-crate-0.5"
_CONTEXTS = {
    "https://w3id.org/ro/crate/1.1/context": "ro-crate-1.1-context.jsonld",
    "https://w3id.org/ro/terms/workflow-run/context": "workflow-run-context.jsonld",
}


def judge(crate: Path, contexts: Path, severity: Severity) -> ValidationResult:
    """The validator's answer on whatever is so severe; it also holds the crate to the profiles inherited."""
    settings = ValidationSettings(
        rocrate_uri=str(crate),
        profile_identifier=PROFILE,
        requirement_severity=severity,
        offline=True,
        cache_path=contexts,
    )
    return validate(settings)


def issues(judged: ValidationResult, severity: Severity = Severity.REQUIRED) -> set[tuple[str, str]]:
    """What was found that is so severe or worse, as (entity, message)."""
    return {(str(issue.violatingEntity), issue.message.strip()) for issue in judged.get_issues(severity)}


def fill_cache(path: Path) -> Path:
    """Put the contexts that stand beside this file where the validator looks for what it has fetched."""
    cache = requests_cache.CachedSession(str(path), backend="sqlite").cache
    for url, name in _CONTEXTS.items():
        response = requests.Response()
        response.status_code, response.url = 200, url
        response.headers["Content-Type"] = "application/ld+json"
        response.request = requests.Request("GET", url).prepare()
        content = (Path(__file__).parent / "contexts" / name).read_bytes()
        response._content = content
        response.raw = urllib3.HTTPResponse(io.BytesIO(content), response.headers, 200, preload_content=False)
        cache.save_response(response)
    return path
