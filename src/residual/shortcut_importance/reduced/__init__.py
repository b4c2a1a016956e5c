"""Two-layer non-overlapping convolutional networks under gradient descent on their population loss."""
