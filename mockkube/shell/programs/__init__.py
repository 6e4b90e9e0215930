"""Programs that the shell knows, and images whose behavior is known. Start with `programs`."""
