# resaudit: `snakemake --cores all` draws every figure and judges every claim; `snakemake --cores all robustness` judges
# them again under every variant of the assumptions. Rules are in workflow/rules, settings in config/.
from snakemake.utils import min_version

min_version("9.0")


include: "workflow/rules/common.smk"


onsuccess:
    if any(job.rule.name == "audit" for job in workflow.dag.jobs):
        logger.info(verdicts_in_words(FILES.figures / "audit.json"))


localrules:
    all,
    robustness,


rule all:
    default_target: True
    input:
        [figure_files(name) for name in PLAN.figures],
        FILES.figures / "audit.html",


# `snakemake demystifying_resnet/fig04` draws one figure; so does `snakemake fig07`, if no other paper has a fig07.
for target, name in TARGETS.items():

    rule:
        name:
            target
        input:
            figure_files(name),
        localrule: True


include: "workflow/rules/data.smk"
include: "workflow/rules/jobs.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"
