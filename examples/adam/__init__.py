"""The paper adam: its figures, and what they are drawn from."""
