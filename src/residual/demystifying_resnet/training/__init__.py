"""Gradient descent on ensembles. Imports only torch and numpy."""
