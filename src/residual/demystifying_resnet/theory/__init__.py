"""Theorems checked by construction. Imports only torch and numpy."""
