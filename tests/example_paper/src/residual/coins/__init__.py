"""A Note on Coins."""
