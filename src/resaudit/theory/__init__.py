"""Theorems checked by construction: what they state, measured. Imports torch and numpy only."""
