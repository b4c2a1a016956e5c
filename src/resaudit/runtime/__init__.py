"""The machine that jobs run on: devices, locks, progress, compiled extensions."""
