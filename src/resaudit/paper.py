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
    from resaudit.data.whiten import moments_of as moments_of
    from resaudit.figures.curves import NO_EPOCH as NO_EPOCH
    from resaudit.figures.curves import descending as descending
    from resaudit.figures.curves import interpolate as interpolate
    from resaudit.figures.curves import recorded_epochs as recorded_epochs
    from resaudit.figures.curves import slope as slope
    from resaudit.figures.curves import snapshot_epochs as snapshot_epochs
    from resaudit.figures.curves import steps_to_target as steps_to_target
    from resaudit.figures.curves import whole_runs as whole_runs
    from resaudit.figures.printed import Share as Share
    from resaudit.figures.printed import as_exact as as_exact
    from resaudit.figures.printed import as_repeated as as_repeated
    from resaudit.figures.printed import as_share as as_share
    from resaudit.figures.printed import over_runs as over_runs
    from resaudit.figures.rates import BestRate as BestRate
    from resaudit.figures.rates import choose_rate as choose_rate
    from resaudit.figures.rates import rates_to_confirm as rates_to_confirm
    from resaudit.figures.style import Look as Look
    from resaudit.figures.style import Panel as Panel
    from resaudit.figures.style import colours_of as colours_of
    from resaudit.figures.style import legend_above as legend_above
    from resaudit.figures.style import panels as panels
    from resaudit.figures.sweeps import Stage as Stage
    from resaudit.figures.sweeps import at_shown_rate as at_shown_rate
    from resaudit.figures.sweeps import at_the_end as at_the_end
    from resaudit.figures.sweeps import best_rates as best_rates
    from resaudit.figures.sweeps import bounding_rates as bounding_rates
    from resaudit.figures.sweeps import common_rates as common_rates
    from resaudit.figures.sweeps import fresh as fresh
    from resaudit.figures.sweeps import is_confirmed as is_confirmed
    from resaudit.figures.sweeps import screened as screened
    from resaudit.figures.sweeps import sweep as sweep
    from resaudit.figures.sweeps import whole_sweep as whole_sweep
    from resaudit.jobs.checkpoints import Checkpoint as Checkpoint
    from resaudit.jobs.fields import Float as Float
    from resaudit.jobs.fields import Int as Int
    from resaudit.jobs.fields import Shape as Shape
    from resaudit.jobs.fields import Text as Text
    from resaudit.jobs.fields import Type as Type
    from resaudit.jobs.fields import joined as joined
    from resaudit.jobs.job import Cost as Cost
    from resaudit.jobs.job import Execution as Execution
    from resaudit.jobs.job import Job as Job
    from resaudit.jobs.job import Work as Work
    from resaudit.jobs.simulation import Simulation as Simulation
    from resaudit.jobs.tolerance import Tolerance as Tolerance
    from resaudit.plan.check import Check as Check
    from resaudit.plan.experiment import Coordinates as Coordinates
    from resaudit.plan.experiment import Data as Data
    from resaudit.plan.experiment import Experiment as Experiment
    from resaudit.plan.experiment import Product as Product
    from resaudit.plan.experiment import at as at
    from resaudit.plan.fields import Confirmation as Confirmation
    from resaudit.plan.fields import Depth as Depth
    from resaudit.plan.fields import Depths as Depths
    from resaudit.plan.fields import Epochs as Epochs
    from resaudit.plan.fields import Names as Names
    from resaudit.plan.fields import Rates as Rates
    from resaudit.plan.fields import Runs as Runs
    from resaudit.plan.fields import SomeRates as SomeRates
    from resaudit.runtime.extensions import NOT_BUILT as NOT_BUILT
    from resaudit.runtime.extensions import kernel as kernel
    from resaudit.runtime.progress import Progress as Progress
    from resaudit.runtime.progress import log as log
    from resaudit.runtime.progress import with_progress as with_progress
else:
    __getattr__ = door(__name__, __file__)
