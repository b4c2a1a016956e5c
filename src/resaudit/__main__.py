"""``python -m resaudit``, as Snakemake's rules call it."""

import os
import sys

from resaudit.cli import main

status = main()
sys.stdout.flush()
# What a job makes is on disk by now, and taking torch down would cost it almost a second.
os._exit(status)
