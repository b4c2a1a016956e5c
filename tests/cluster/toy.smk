# Jobs of known behaviour, for faults that need one; they are submitted by the profile that is tested.


rule all:
    input:
        expand("done/{name}", name=config.get("names", "a").split("+")),


# Runs until the file `go` is there, and says when it is told to end.
rule wait:
    output:
        "done/{name}",
    resources:
        mem_mb=600,
        runtime=10,
    shell:
        "trap 'touch terminated' TERM; mkdir -p started && echo $SLURMD_NODENAME $SLURM_JOB_ID >> started/{wildcards.name};"
        " until [ -e go ]; do sleep 0.2; done; echo done > {output}"


# Needs 1 GB, which it asks for at its second attempt.
rule hungry:
    output:
        "memory",
    resources:
        mem_mb=lambda wildcards, attempt: 700 * attempt,
        runtime=10,
    shell:
        "echo {resources.mem_mb} >> asked;"
        " python3 -c \"import time; kept = b'x' * (1000 << 20); time.sleep(5)\" && echo {resources.mem_mb} > {output}"


# Hangs at its first attempt, until its minute is over.
rule hang:
    output:
        "time",
    resources:
        mem_mb=600,
        runtime=lambda wildcards, attempt: attempt,
    shell:
        "echo {resources.runtime} >> asked; if [ {resources.runtime} = 1 ]; then sleep 600; fi; echo {resources.runtime} > {output}"


# What Slurm knows of a job that wants a GPU, and of one that does not.
rule train_images:
    output:
        "with_gpu",
    resources:
        mem_mb=600,
        runtime=10,
        gpu=1,
    shell:
        "scontrol show job $SLURM_JOB_ID > {output}"


rule propagate:
    output:
        "without_gpu",
    resources:
        mem_mb=600,
        runtime=10,
    shell:
        "scontrol show job $SLURM_JOB_ID > {output}"
