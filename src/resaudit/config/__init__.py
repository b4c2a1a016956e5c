"""The configuration: Hydra's files composed one figure at a time, and checked by pydantic models."""
