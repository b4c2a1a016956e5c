"""Exact Hessians and their spectra. Imports torch and numpy only, so that it runs on a bare GPU node."""
