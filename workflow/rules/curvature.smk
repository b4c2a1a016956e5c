# Exact Hessians of one ensemble: along its training, or at its initial point.

# From this many MB on, two Hessians at once would need more memory than a laptop likes to give.
LARGE_HESSIAN_MB = 1500


def trajectory_of(wildcards):
    ensemble = PLAN.ensemble(wildcards.id)
    return [FILES.training(wildcards.id) / "trajectory.npz"] if ensemble.epochs else []


rule curvature:
    input:
        whitened("moments.npz"),
        trajectory=trajectory_of,
        code=code("networks", "curvature", "stages"),
    output:
        FILES.curvature("{id}") / "spectra.npz",
        FILES.curvature("{id}") / "settings.json",
        FILES.curvature("{id}") / "provenance.json",
    log:
        LOGS / "curvature" / "{id}.log",
    benchmark:
        BENCHMARKS / "curvature" / "{id}.tsv"
    threads: lambda wildcards: 2 if curvature_cost(PLAN.ensemble(wildcards.id)).megabytes > LARGE_HESSIAN_MB else 1
    resources:
        mem_mb=lambda wildcards: int(curvature_cost(PLAN.ensemble(wildcards.id)).megabytes),
        runtime=lambda wildcards: 5 + int(curvature_cost(PLAN.ensemble(wildcards.id)).seconds / 10),
        gpu=int(PLAN.config.device.value == "cuda"),
    shell:
        "{RESAUDIT} curvature {wildcards.id} --threads {threads} {WITH_OVERRIDES} 2> {log}"
