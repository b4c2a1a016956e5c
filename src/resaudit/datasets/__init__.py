"""From a data set's bytes to whitened samples and their moments."""
