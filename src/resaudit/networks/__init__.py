"""The networks of the papers: shape, initialization, forward and backward maps. Imports torch and numpy only."""
