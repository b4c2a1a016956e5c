"""``python -m resaudit``, as Snakemake's rules call it."""

import gc
import os
import sys

# Imports make hundreds of thousands of objects and hardly any garbage. Looked for at every 700th, Python's default, it
# would take a twelfth of torch's import.
gc.set_threshold(50_000)

from resaudit.cli.commands import main  # noqa: E402  (after the line above, which is for what this imports)

status = main()
sys.stdout.flush()
# What a job makes is on disk by now, and taking torch down would cost it almost a second.
os._exit(status)
