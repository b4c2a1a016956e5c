"""Exact Hessians and their spectra. Imports only torch and numpy."""
