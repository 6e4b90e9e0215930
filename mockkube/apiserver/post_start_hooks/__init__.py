"""Work that an API server does by itself while it runs, as upstream's post-start hooks. Start with `hooks`."""
