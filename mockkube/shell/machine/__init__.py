"""Files, time, output and standard input of a run of a container."""
