"""The networks of the papers: shape, initialization, forward and backward maps. Imports only torch and numpy."""
