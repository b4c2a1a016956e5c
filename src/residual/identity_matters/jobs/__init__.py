"""The kinds of jobs of "Identity Matters in Deep Learning"."""

from residual.identity_matters.jobs.count import Count
from residual.identity_matters.jobs.descents import Descents
from residual.identity_matters.jobs.dominance import Dominance
from residual.identity_matters.jobs.factorize import Factorize
from residual.identity_matters.jobs.lemma import Lemma
from residual.identity_matters.jobs.memorize import Memorize
from residual.images.jobs import TrainImages

__all__ = ["Count", "Descents", "Dominance", "Factorize", "Lemma", "Memorize", "TrainImages"]
