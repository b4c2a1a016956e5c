"""The configuration: Hydra composes one figure at a time, pydantic models validate it."""
