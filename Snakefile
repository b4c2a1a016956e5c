# The entry: with it, Snakemake finds profiles/default here. The workflow is where its catalogue looks for it.
include: "workflow/Snakefile"


# An include leaves the default target as it was.
workflow.default_target = "all"
