"""The command ``resaudit``, and what the Snakefile calls."""
