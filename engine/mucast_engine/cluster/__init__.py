"""A job on a Ray cluster: the gateway that replaces the host, and what it runs on nodes."""
