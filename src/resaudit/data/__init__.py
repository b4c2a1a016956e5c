"""Data sets: fetching, whitening, moments."""
