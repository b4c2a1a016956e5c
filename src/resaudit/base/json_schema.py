"""How the published JSON Schemas are made from the models."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema


class Untitled(GenerateJsonSchema):
    """JSON Schemas without a title for each field, which would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False
