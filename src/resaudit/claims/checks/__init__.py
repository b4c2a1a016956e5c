"""Checks: each is a class of parameters and their measurement. A paper's own stand beside its figures."""
