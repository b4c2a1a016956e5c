"""Base classes of the pydantic models, and validation errors in one line."""

import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from resaudit.errors import ResauditError, suggestion

LONGEST_TEXT = 10_000
LONGEST_LIST = 8
"""Longer lists are abbreviated."""
_LONGEST_SHOWN = 40
# Line breaks, other control characters, and lone surrogates, which UTF-8 cannot encode.
_UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")


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
    return [field.alias or name for name, field in model.model_fields.items()]


class Model(Closed):
    """A section of the configuration; its strings have one line each."""

    @field_validator("*")
    @classmethod
    def _text_in_one_line(cls, value: Any) -> Any:
        for text in _texts(value):
            check_text(text)
        return value


M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


def validated(kind: type[M], given: Any, where: str) -> M:
    """Validate plain values against a model.

    Args:
        kind: the model.
        given: plain values, as YAML or JSON gives them.
        where: the place of ``given``, as a dotted path.

    Raises:
        ResauditError: the first error (place, value given, values allowed) and the number of others.
    """
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        first, *others = error.errors(include_url=False)
        more = f" (and {len(others)} more)" if others else ""
        raise ResauditError(f"{_line(first, where)}{more}") from error


def _line(error: ErrorDetails, where: str) -> str:
    path = where + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
    place = path.lstrip(".") or "the configuration"
    match error["type"]:
        case "value_error":
            return f"{place} {error['ctx']['error']}"
        case "missing":
            return f"{place} is missing; give it"
        case "too_short":
            return f"{place} is empty; give at least one"
        case "too_long":
            allowed = f"a list of at most {error['ctx']['max_length']}"
        case "model_type" | "dict_type":
            allowed = "a section"
        case "list_type":
            scalar = isinstance(error["input"], str | int | float | bool)
            allowed = f"a list, as [{error['input'] if scalar else '…'}]"
        case _:
            allowed = error["msg"].removeprefix("Input should be ").replace("String should match", "text that matches")
    return f"{place} is {shown(error['input'])}; allowed: {allowed}"


def shown(value: Any) -> str:
    """A value's ``repr``, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def in_words(value: Any) -> str:
    """A setting in a few words, for people.

    >>> in_words([1, 2.5, True]), in_words(list(range(9))), in_words(None)
    ('1, 2.5, yes', '0 … 8 (9 values)', 'all')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        if len(value) > LONGEST_LIST:
            return f"{in_words(value[0])} … {in_words(value[-1])} ({len(value)} values)"
        return ", ".join(map(in_words, value)) or "none"
    if value is None:
        return "all"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def different(values: list[T]) -> list[T]:
    """Check that a list has no duplicates.

    Raises:
        ValueError: it has; the message continues the place's name.
    """
    twice = next((value for value in values if values.count(value) > 1), None)
    if twice is not None:
        raise ValueError(f"names {in_words(twice)} twice; allowed: each value once")
    return values


def check_text(text: str) -> None:
    """Check that a text is short and fits on one line.

    Raises:
        ValueError: it does not; the message continues the place's name.
    """
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"has {len(text)} characters; allowed: at most {LONGEST_TEXT}")
    if any(unicodedata.category(character) in _UNPRINTABLE for character in text):
        raise ValueError(f"is {shown(text)}; allowed: text in one line, without control characters")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (*_texts(key), *_texts(item))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
