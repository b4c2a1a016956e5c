"""Recomputing imported results, drawn by what verdicts rest on."""
