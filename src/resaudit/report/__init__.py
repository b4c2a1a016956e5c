"""The audit for people: one self-contained page made from ``audit.json``. Imports neither torch nor pandas."""
