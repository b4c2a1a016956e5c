# Training one ensemble: every learning rate and seed of a network at once.


rule train:
    input:
        lambda wildcards: data_of(ensemble_of(wildcards)),
        sweep=sweep_of,
        code=code("networks", "training", "arrays", "checkpoints", "results", "stages"),
    output:
        FILES.training("{id}") / "trajectory.npz",
        FILES.training("{id}") / "settings.json",
        FILES.training("{id}") / "provenance.json",
    log:
        LOGS / "train" / "{id}.log",
    benchmark:
        BENCHMARKS / "train" / "{id}.tsv"
    threads: lambda wildcards: train_threads(ensemble_of(wildcards), PLAN.config.kernel.value)
    resources:
        mem_mb=lambda wildcards: int(train_cost(ensemble_of(wildcards), PLAN.config.kernel.value).megabytes),
        runtime=lambda wildcards: 5 + int(train_cost(ensemble_of(wildcards), PLAN.config.kernel.value).seconds / 10),
        gpu=int(PLAN.config.device.value == "cuda"),
        variant=lambda wildcards: hint(PROGRAMME.ensemble(wildcards.id)[0]),
    shell:
        "{RESAUDIT} train {wildcards.id} --threads {threads} {WITH_OVERRIDES} {resources.variant} 2> {log:q}"
