"""Identity Matters in Deep Learning (Hardt and Ma, arXiv 1611.04231)."""
