"""Importing an archive: nothing of it is believed that cannot be checked."""
