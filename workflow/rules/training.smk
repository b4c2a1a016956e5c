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
        mem_mb=lambda wildcards, attempt: cost_of_training(wildcards).megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: cost_of_training(wildcards).minutes_asked(attempt),
        gpu=gpus(True),
    params:
        hint=lambda wildcards, threads: hint(PROGRAMME.ensemble(wildcards.id)[0], wildcards.id),
    shell:
        "{RESAUDIT} train {wildcards.id} --threads {threads} {WITH_OVERRIDES} {params.hint} 2> {log:q}"
