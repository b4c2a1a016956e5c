"""Results on disk: atomic writes, checkpoints, provenance, checked reads."""
