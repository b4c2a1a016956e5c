"""Base classes of the pydantic models, and validation errors in one line."""

import inspect
import json
import math
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails

from resaudit.base.errors import ConfigError, in_one_line, reading, suggestion
from resaudit.base.text import in_words

LONGEST_TEXT = 10_000
LONGEST_LINE = 200
"""Characters of a text that somebody else wrote."""
_LONGEST_SHOWN = 40
# Line breaks, other control characters, and lone surrogates, which UTF-8 cannot encode.
_UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")
_REORDERING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Bidirectional classes of the characters that show a text in another order than it has."""


M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class Closed(BaseModel):
    """A strict, frozen model: known keys only, no type conversion, finite numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, given: Any) -> Any:
        known = _keys_of(cls)
        unknown = [key for key in given if key not in known] if isinstance(given, dict) else []
        if unknown:
            raise ValueError(f"has an unknown key {shown(unknown[0])}{suggestion(str(unknown[0]), known)}")
        return given


@cache
def _keys_of(model: type[BaseModel]) -> list[str]:
    names = [field.alias or name for name, field in model.model_fields.items()]
    return [*names, *model.model_fields] if model.model_config.get("populate_by_name") else names


class Model(Closed):
    """A section of the configuration, or of an audit; its strings have one line each."""

    @field_validator("*")
    @classmethod
    def _text_in_one_line(cls, value: Any) -> Any:
        for text in _texts(value):
            if len(text) > LONGEST_TEXT:
                raise ValueError(f"has {len(text)} characters; allowed: at most {LONGEST_TEXT}")
            if not text.isprintable() and any(
                unicodedata.category(letter) in _UNPRINTABLE or unicodedata.bidirectional(letter) in _REORDERING
                for letter in text
            ):
                raise ValueError(f"is {shown(text)}; allowed: text in one line, without control characters")
        return value


def check_lines(values: T) -> T:
    """Check that every text in plain values, keys among them, is one of 1 to 200 printable characters.

    Raises:
        ValueError: one is not; the message continues the place's name.
    """
    for text in _texts(values):
        if not (0 < len(text) <= LONGEST_LINE and text.isprintable()):
            raise ValueError(f"has the text {shown(text)}; allowed: 1 to {LONGEST_LINE} printable characters")
    return values


def _check_moment(text: str) -> str:
    try:
        year = datetime.fromisoformat(text).year
    except ValueError as error:
        raise ValueError(f"is {text} ({error}); allowed: a time that there is") from error
    if not 1970 <= year < 9999:
        raise ValueError(f"is {text}; allowed: a time since 1970")
    return text


Line = Annotated[str, AfterValidator(check_lines)]
"""A text that somebody else wrote: 1 to 200 printable characters, so no line break, escape sequence or reversal."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
ID = "[A-Za-z0-9][A-Za-z0-9_-]*"
"""Pattern of the ids of papers, figures, claims and variants."""
Id = Annotated[str, Field(pattern=f"^{ID}$")]
PairId = Annotated[str, Field(pattern=f"^{ID}/{ID}$")]
"""paper/claim or paper/figure."""
Count = Annotated[int, Field(ge=0)]
_ODD = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
Number = Annotated[
    float,
    Field(allow_inf_nan=True),
    BeforeValidator(lambda given: _ODD.get(given, given) if isinstance(given, str) else given),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": [*_ODD]}]}),
]
"""A number that JSON has as text where it is not finite, as JavaScript's Number and Python's float read it."""
Time = Annotated[
    str,
    Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"),
    AfterValidator(_check_moment),
]
"""ISO 8601 with seconds and an offset."""


def validated(kind: type[M], values: Any, place: str) -> M:
    """Validate plain values against a model."""
    with refusals(place):
        return kind.model_validate(values)


def read_record(path: Path, kind: type[M], remedy: str) -> M:
    """Read a JSON file of one model."""
    with reading(path, remedy):
        return validated(kind, json.loads(path.read_text(encoding="utf-8")), "it")


@contextmanager
def refusals(place: str) -> Iterator[None]:
    """Raise the validation errors of models made within as :func:`validated` does."""
    try:
        yield
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        path = place + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
        more = f" (and {len(others)} more)" if others else ""
        raise ConfigError(f"{_fault(first)}{more}", place=one_line(path.lstrip(".")) or "the configuration") from error


def _fault(error: ErrorDetails) -> str:
    """A validation error in words, which continue the name of its place."""
    match error["type"]:
        case "value_error":
            return str(error["ctx"]["error"])
        case "missing":
            return "is missing; give it"
        case "too_short":
            return "is empty; give at least one"
        case "too_long":
            allowed = f"a list of at most {error['ctx']['max_length']}"
        case "model_type" | "dict_type":
            allowed = "a section"
        case "list_type":
            scalar = isinstance(error["input"], str | int | float | bool)
            allowed = f"a list, as [{error['input'] if scalar else '…'}]"
        case _:
            allowed = error["msg"].removeprefix("Input should be ").replace("String should match", "text that matches")
    return f"is {shown(error['input'])}; allowed: {allowed}"


def shown(value: Any) -> str:
    """A value's ``repr``, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def one_line(text: str) -> str:
    """What somebody else wrote, or may have, as a part of a line of ours: printable and shortened."""
    return in_one_line(text[:LONGEST_LINE]) + "…" * (len(text) > LONGEST_LINE)


def different(values: list[T]) -> list[T]:
    """Check that a list has no duplicates."""
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"names {in_words(twice)} twice; allowed: each value once")
    return values


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list):
            left += value


def summary(kind: type[BaseModel]) -> str:
    """What the docstring of a model says before its sections."""
    return re.split(r"\n\n?(?:Attributes|Raises):\n", inspect.getdoc(kind) or "")[0]


def meanings(kind: type[BaseModel]) -> dict[str, str]:
    """What the docstrings of a model and its bases say of each field."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        section = re.search(r"^Attributes:\n((?: .*\n?|\n)+)", inspect.cleandoc(base.__doc__ or ""), re.MULTILINE)
        entries = re.findall(r"^ {4}([\w, ]+): ((?:.*\n? {5,})*.*)$", section[1] if section else "", re.MULTILINE)
        found |= {key.strip(): " ".join(meaning.split()) for keys, meaning in entries for key in keys.split(",")}
    return found | {name: field.description for name, field in kind.model_fields.items() if field.description}


class Part(Model):
    """A section of audit.json; the docstrings of its fields become descriptions in the JSON Schema."""

    model_config = ConfigDict(use_attribute_docstrings=True, ser_json_inf_nan="strings")


class Untitled(GenerateJsonSchema):
    """JSON Schemas without a title for each field, which would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False
