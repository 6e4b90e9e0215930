"""Post-start hooks: what an API server does without requests while it runs. Start with `hooks`."""
