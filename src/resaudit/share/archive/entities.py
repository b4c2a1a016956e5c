"""Adding to a crate's graph."""

import re
from typing import Any

from resaudit.base.errors import ResauditError
from resaudit.base.models import check_lines, shown

_NAMED = re.compile(
    r"(?P<name>[^<>]{1,170}?)\s*(?:<(?:https://orcid\.org/)?(?P<orcid>[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])>)?"
)


def add(crate: Any, identifier: str, kind: str, **properties: Any) -> Any:
    """Get or add a contextual entity of the crate; properties that are None are left out."""
    from rocrate.model.contextentity import ContextEntity

    known = {name: value for name, value in properties.items() if value is not None}
    return crate.get(identifier) or crate.add(ContextEntity(crate, identifier, {"@type": kind, **known}))


def named(by: str) -> dict[str, str]:
    """A person by ``Name`` or ``Name <ORCID>``, as properties of an entity.

    Raises:
        ResauditError: it is neither.

    >>> named("Ada Lovelace <0000-0002-1825-0097>")
    {'@id': 'https://orcid.org/0000-0002-1825-0097', 'name': 'Ada Lovelace'}
    """
    found = _NAMED.fullmatch(by.strip())
    try:
        check_lines(by)
    except ValueError as error:
        raise ResauditError(f"--by {error}") from error
    if found is None:
        raise ResauditError(
            f"--by is {shown(by)}; allowed: a name, or a name with an ORCID: 'Name <0000-0000-0000-0000>'"
        )
    name, orcid = found["name"], found["orcid"]
    return {"@id": f"https://orcid.org/{orcid}" if orcid else f"#{name.replace(' ', '-')}", "name": name}
