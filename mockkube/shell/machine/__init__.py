"""What a run of a container has: files, time, output and standard input."""
