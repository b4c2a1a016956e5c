"""Which arrays a job's result files hold: names, types and shapes, as far as its plan determines them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from resaudit.errors import ResauditError
from resaudit.jobs.dominance import Dominance
from resaudit.jobs.hessians import Hessians
from resaudit.jobs.propagate import AtInitialisation
from resaudit.jobs.simulate import Simulate
from resaudit.jobs.theorem import Theorem
from resaudit.jobs.train import Train
from resaudit.jobs.train_images import TrainImages
from resaudit.jobs.train_scaled import TrainScaled
from resaudit.jobs.whiten import Whiten
from resaudit.plan.job import Job
from resaudit.plan.simulation import Simulation
from resaudit.scaled_residual.setting import layers_kept


@dataclass(frozen=True)
class Header:
    """What an array's header says."""

    dtype: np.dtype
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


_MEASURED = "property:U shortcut_depth:i8 activations:U width:i8 units:i8 samples:i8 data:U draw:i8 value expected"
_CHECKED = "error tolerance"

ARRAYS: Mapping[str, str] = {
    "whiten/samples.npz": "inputs[components,samples] labels:u1[samples] explained_variance[components]",
    "whiten/moments.npz": "xx[components,components] yx[components,components] trace_yy[]",
    "train/trajectory.npz": "learning_rate[runs] baseline_loss[] excess_loss[epochs,runs] gradient_norm[epochs,runs] "
    "mean_frobenius_norm[epochs,runs] snapshot_epochs:i8[snapshots] snapshots[snapshots,depth,runs,width,width]",
    "train_scaled/losses.npz": "learning_rate[runs] run:i8[runs] loss[steps,runs]",
    "train_images/records.npz": "run:i8[runs] step:i8[times] epoch[times] learning_rate[times] train_loss[runs,times] "
    "train_error[runs,times] test_loss[runs,times] test_error[runs,times] test_error_halves[runs,times,2] "
    "norms[runs,times,tensors] weights:U[tensors]",
    "hessians/spectra.npz": "lambda_max:precision[snapshots,runs] lambda_p10:precision[snapshots,runs] "
    "condition_number:precision[snapshots,runs] index[snapshots,runs] raw_index[snapshots,runs] "
    "sizeable_index[snapshots,runs] noise_floor:precision[snapshots,runs] resolved:b1[snapshots,runs]",
    "theorem/theorem_1": f"{_MEASURED} {_CHECKED}",
    "theorem/theorem_2": f"{_MEASURED} {_CHECKED}",
    "theorem/sphere_path": "path[points,3] direct[points,3] obstacles[others,3] rho[]",
    "theorem/zero_hessians": "shortcut_depth:i8 units:i8 width:i8 row:i8 column:i8 value",
    "simulate/simulated.npz": "outcomes:i1[settings,runs] states[settings,steps,4,runs]",
    "factorize/factored.npz": "method:U width:i8 draw:i8 depth:i8 gamma norm paper whole least error tolerance",
    "dominance/dominated.npz": "width:i8 depth:i8 radius draw:i8 log_ratio error tolerance rounding",
    "descents/descended.npz": "depth:i8 start draw:i8 epoch:i8 learning_rate smallest largest excess log_ratio "
    "rounding",
    "proposition/checked.npz": f"property:U patches:i8 filter_size:i8 draw:i8 {_CHECKED}",
    "lemma/checked.npz": f"property:U constant width:i8 margin draw:i8 {_CHECKED}",
    "express/expressed.npz": "case:i8 labels:U points_left:i8 rho parameters:i8 wrong:i8 error tolerance "
    "traced_case:i8[traced] traced_labels:U[traced] layer:i8[traced] remaining:i8[traced] moved_error[traced] "
    "disturbance[traced] nested:i8[subsets] nested_rho[subsets]",
    "propagate/propagated.npz": "squared_norms[networks,runs,layers] start[networks,runs] least[networks,runs] "
    "largest[networks,runs]",
    "backpropagate/backpropagated.npz": "middle[networks,runs,layers] largest[networks,runs] last[networks,runs]",
    "multiply/products.npz": "first:i8[networks,pairs] last:i8[networks,pairs] norms[networks,runs,pairs] "
    "error[networks]",
    "count/counts.npz": "layer:U kernel:i8 inputs:i8 outputs:i8 stride:i8 weights:i8 trainable:i8[]",
}
"""By kind and file (of a theorem, its statement): names with a type and sizes.

The default type is f8, the default size [rows], as in a table with a row per observation; the type ``precision`` is the
job's setting. A size that :func:`_sizes` does not know from the plan is the same wherever it stands in the file.
"""

_ARRAY = re.compile(r"(?P<name>\w+)(?::(?P<dtype>\w+))?(?:\[(?P<sizes>[\w,]*)\])?")


def check_headers(job: Job, file: str, found: Mapping[str, Header], where: object) -> None:
    """Check that a result file has the arrays that its job can give.

    Kinds of papers outside this repository state at most their arrays' names, as the result of a ``Simulation``.

    Args:
        job: whose file it is.
        file: its name.
        found: what the headers of its arrays say, by name.
        where: the file, for the error.

    Raises:
        ResauditError: an array is missing, is one too many, or has another type or shape.
    """
    stated = ARRAYS.get(f"theorem/{job.statement}" if isinstance(job, Theorem) else f"{job.kind}/{file}")
    if stated is None:
        if isinstance(job, Simulation):
            _check_names({field.name for field in fields(job.result)}, found, where)
        return
    arrays = [match.groupdict() for match in map(_ARRAY.fullmatch, stated.split()) if match]
    _check_names({array["name"] for array in arrays}, found, where)
    known, precision = _sizes(job), getattr(job, "precision", None)
    for array in arrays:
        dtype, header = precision if array["dtype"] == "precision" else array["dtype"] or "f8", found[array["name"]]
        names = [name for name in ("rows" if array["sizes"] is None else array["sizes"]).split(",") if name]
        # An empty list has no type of its own.
        is_type = 0 in header.shape or (header.dtype.kind == "U" if dtype == "U" else header.dtype == np.dtype(dtype))
        if not is_type or len(names) != len(header.shape) or not _fits(names, header.shape, known):
            sizes = ", ".join(str(known.get(name, name)) for name in names)
            expected = f"{'text' if dtype == 'U' else np.dtype(dtype)}[{sizes}]"
            raise ResauditError(f"{where}: {array['name']} is {header}; its job can only give {expected}")


def _fits(names: list[str], shape: tuple[int, ...], known: dict[str, int]) -> bool:
    """Whether a shape has the sizes of these names; those not known yet are known from here on."""
    return all(
        (int(name) if name.isdigit() else known.setdefault(name, size)) == size
        for name, size in zip(names, shape, strict=True)
    )


def _check_names(expected: set[str], found: Mapping[str, Header], where: object) -> None:
    if expected != found.keys():
        raise ResauditError(f"{where} holds {', '.join(sorted(found))}; its job gives {', '.join(sorted(expected))}")


def _sizes(job: Job) -> dict[str, int]:
    """The sizes that a job's settings determine; at the best rates of a sweep, a training has any number of runs."""
    match job:
        case Whiten():
            return {"components": job.components}
        case Train():
            network = job.ensemble.network
            sizes = {"epochs": job.epochs + 1, "depth": network.depth, "width": network.width}
            runs = {} if job.sweep else {"runs": job.trajectories}
            return sizes | runs | {"snapshots": len(job.snapshot_epochs)}
        case Hessians(training=None):
            return {"snapshots": job.snapshots, "runs": job.ensemble.runs}
        case Hessians(training=Train() as training):
            return {name: size for name, size in _sizes(training).items() if name in ("snapshots", "runs")}
        case TrainScaled():
            return {"runs": job.runs * len(job.learning_rates), "steps": job.steps}
        case TrainImages():
            return {"runs": len(job.runs)}
        case Theorem(statement="sphere_path"):
            return {"points": job.cases.steps[0] + 1}
        case Simulate():
            return {"settings": len(job.settings_of_runs), "runs": job.runs, "steps": len(job.steps)}
        case AtInitialisation():
            layers = max(len(layers_kept(network.depth, job.kept)) for network in job.networks)
            return {"networks": len(job.networks), "runs": job.runs, "layers": layers}
        case Dominance():
            points = job.points
            return {"rows": len(points.widths) * len(points.depths) * len(points.radii) * points.draws}
        case _:
            return {}
