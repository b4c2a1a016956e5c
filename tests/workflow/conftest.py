"""The workflow at scale smoke, as the tests in this folder call it; ``smoked`` is a fixture of all tests."""

from tests.conftest import smoke, smoke_command

__all__ = ["smoke", "smoke_command"]
