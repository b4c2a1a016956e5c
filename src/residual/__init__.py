"""The audit's papers on residual networks: each a package, found like a paper of anyone's."""
