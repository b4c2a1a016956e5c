"""Checks: each is a class with its parameters and its measurement. A paper's own are beside its figures."""
