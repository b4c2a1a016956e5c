"""Jobs: values with an id, as files of the plan; running them; their results and provenance."""
