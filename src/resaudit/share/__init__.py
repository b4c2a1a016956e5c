"""Runs that travel: packed here, imported there, checked by recomputing some of it."""
