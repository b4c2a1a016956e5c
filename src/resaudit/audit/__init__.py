"""The audit: ``audit.json``, its page, and what the terminal shows of it."""
