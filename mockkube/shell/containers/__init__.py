"""Environment, files, probes and servers of a container's command. Start with `interpreter`."""
