# Training one ensemble: every learning rate and seed of a network at once.


def sweep_of(wildcards):
    """The trajectory whose best learning rate this ensemble trains at, if it is not told its rates."""
    followed = PLAN.ensemble(wildcards.id).best_rate_of
    return [FILES.training(followed) / "trajectory.npz"] if followed else []


rule train:
    input:
        whitened("moments.npz"),
        sweep=sweep_of,
        code=code("networks", "training", "stages"),
    output:
        FILES.training("{id}") / "trajectory.npz",
        FILES.training("{id}") / "settings.json",
        FILES.training("{id}") / "provenance.json",
    log:
        LOGS / "train" / "{id}.log",
    benchmark:
        BENCHMARKS / "train" / "{id}.tsv"
    threads: 1
    resources:
        mem_mb=lambda wildcards: int(train_cost(PLAN.ensemble(wildcards.id)).megabytes),
        runtime=lambda wildcards: 5 + int(train_cost(PLAN.ensemble(wildcards.id)).seconds / 10),
        gpu=int(PLAN.config.device.value == "cuda"),
    shell:
        "{RESAUDIT} train {wildcards.id} --threads {threads} {WITH_OVERRIDES} 2> {log}"
