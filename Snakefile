# resaudit: `snakemake --cores all` draws every figure. Rules stand in workflow/rules, settings in config/.
from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"


localrules:
    all,


rule all:
    default_target: True
    input:
        [figure_files(name) for name in PLAN.figures],


include: "workflow/rules/datasets.smk"
include: "workflow/rules/training.smk"
include: "workflow/rules/curvature.smk"
include: "workflow/rules/theory.smk"
include: "workflow/rules/papers.smk"
