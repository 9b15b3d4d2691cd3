"""A job on a Ray cluster: the gateway that stands in the host's place, and what it has nodes run."""
