"""The kinds of jobs of "Importance of Shortcut Connections"."""

from residual.shortcut_importance.jobs.proposition import Proposition
from residual.shortcut_importance.jobs.simulate import Simulate

__all__ = ["Proposition", "Simulate"]
