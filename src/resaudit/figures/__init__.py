"""Figures: tables, drawings, sweeps, comparison with references. Imports no torch."""
