"""The networks for images, and the layers that they share."""
