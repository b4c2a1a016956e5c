"""Where results lie, and reading and writing them whole."""
