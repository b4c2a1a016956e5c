"""Liu et al., "Towards Understanding the Importance of Shortcut Connections in Residual Networks"."""
