"""Numbers that a paper prints, with what they count, as the configuration of a claim states them."""

from typing import Annotated, Literal

from pydantic import Field

from resaudit.base.models import Model

Decimals = Annotated[str, Field(pattern=r"^\d{1,12}(\.\d{1,9})?$")]
"""A number as printed, with its trailing zeros."""
Positive = Annotated[int, Field(ge=1)]


class Share(Model):
    """A share of images (or of other trials), or the mean of such shares over runs."""

    of: Positive
    """Number of images."""
    runs: Positive = 1
    """Number of runs whose mean is printed."""
    reason: str
    """Why the number may be this share."""


class PrintedNumber(Model):
    """A number that a paper prints, and the arithmetic that it must obey."""

    number: Decimals
    """As printed, with its trailing zeros."""
    unit: Literal["percent", "share", "millions", "count"]
    """What 1 stands for."""
    where: str
    """Its place in the paper."""
    shares: list[Share] = []
    """What it may be a share of; one of them must be possible."""
    sum_of: list[list[Positive]] = []
    """The count that the paper's text implies: a sum of products, such as the dimensions of every layer."""
    same_as: list[Decimals] = []
    """The same quantity where it is printed again, in the same unit."""
