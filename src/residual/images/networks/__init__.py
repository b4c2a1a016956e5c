"""The networks for images: one module for each family, and what they share."""
