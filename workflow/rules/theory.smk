# What a theorem states, checked by construction at many sizes and draws.


rule verify:
    input:
        lambda wildcards: recorded(FILES.whitened(verification_of(wildcards).data), "samples.npz", "moments.npz"),
        code=code("networks", "datasets", "curvature", "theory", "arrays", "results", "stages"),
    output:
        FILES.theory("{id}") / "measurements.npz",
        FILES.theory("{id}") / "settings.json",
        FILES.theory("{id}") / "provenance.json",
    log:
        LOGS / "verify" / "{id}.log",
    benchmark:
        BENCHMARKS / "verify" / "{id}.tsv"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: verify_cost(verification_of(wildcards)).megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: verify_cost(verification_of(wildcards)).minutes_asked(attempt),
    params:
        hint=lambda wildcards, threads: hint(PROGRAMME.verification(wildcards.id)[0], wildcards.id),
    shell:
        "{RESAUDIT} verify {wildcards.id} --threads {threads} {WITH_OVERRIDES} {params.hint} 2> {log:q}"
