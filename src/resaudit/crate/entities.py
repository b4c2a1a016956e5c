"""Adding to a crate's graph."""

from typing import Any


def add(crate: Any, identifier: str, kind: str, **properties: Any) -> Any:
    """Get or add a contextual entity of the crate; properties that are None are left out."""
    from rocrate.model.contextentity import ContextEntity

    known = {name: value for name, value in properties.items() if value is not None}
    return crate.get(identifier) or crate.add(ContextEntity(crate, identifier, {"@type": kind, **known}))
