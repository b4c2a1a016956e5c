"""Standard streams that can always be written to."""

import io
import os
import sys


def open_streams() -> None:
    """Open closed standard streams to nowhere, and print replacements for characters that an encoding lacks.

    Services and cron close them: Python then has None for a stream, and the next file opened takes its number.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or os.fdopen(0, "r")
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
