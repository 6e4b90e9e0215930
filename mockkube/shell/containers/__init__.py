"""What a container's command sees and does: environment, files, probes, servers. Start with `interpreter`."""
