"""A finished run as one archive: a Workflow Run RO-Crate (https://w3id.org/ro/wfrun/workflow/0.5)."""
