"""All that papers import of the engine; each name is loaded from its module when a paper asks for it."""

from typing import TYPE_CHECKING

from resaudit.base.door import door

if TYPE_CHECKING:
    from resaudit.base.errors import ConfigError as ConfigError
    from resaudit.base.errors import DataError as DataError
    from resaudit.base.errors import MachineError as MachineError
    from resaudit.base.models import Model as Model
    from resaudit.base.models import different as different
    from resaudit.base.text import in_words as in_words
    from resaudit.claims.checks.measured import Measured as Measured
    from resaudit.claims.checks.rows import take as take
    from resaudit.claims.intervals import exact_share as exact_share
    from resaudit.data.fetch import Fetch as Fetch
    from resaudit.data.images import ImageSet as ImageSet
    from resaudit.data.images import refuse_black as refuse_black
    from resaudit.data.whiten import Moments as Moments
    from resaudit.data.whiten import Whiten as Whiten
    from resaudit.data.whiten import Whitened as Whitened
    from resaudit.figures import curves as curves
    from resaudit.figures import sweeps as sweeps
    from resaudit.figures.printed import Examined as Examined
    from resaudit.figures.printed import over_runs as over_runs
    from resaudit.figures.rates import BestRate as BestRate
    from resaudit.figures.style import Look as Look
    from resaudit.figures.style import Panel as Panel
    from resaudit.figures.style import legend_above as legend_above
    from resaudit.figures.style import panels as panels
    from resaudit.figures.sweeps import Stage as Stage
    from resaudit.jobs import arrays as arrays
    from resaudit.jobs.arrays import Tolerance as Tolerance
    from resaudit.jobs.checkpoints import Checkpoint as Checkpoint
    from resaudit.jobs.job import Cost as Cost
    from resaudit.jobs.job import Execution as Execution
    from resaudit.jobs.job import Job as Job
    from resaudit.jobs.job import Work as Work
    from resaudit.jobs.simulation import Simulation as Simulation
    from resaudit.plan import bounded as bounded
    from resaudit.plan.bounded import Confirmation as Confirmation
    from resaudit.plan.claim import Check as Check
    from resaudit.plan.experiment import Coordinates as Coordinates
    from resaudit.plan.experiment import Data as Data
    from resaudit.plan.experiment import Experiment as Experiment
    from resaudit.plan.experiment import Product as Product
    from resaudit.plan.experiment import at as at
    from resaudit.runtime.extensions import NOT_BUILT as NOT_BUILT
    from resaudit.runtime.extensions import kernel as kernel
    from resaudit.runtime.progress import Progress as Progress
    from resaudit.runtime.progress import log as log
else:
    __getattr__ = door(__name__, __file__)
