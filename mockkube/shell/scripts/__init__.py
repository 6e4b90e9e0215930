"""Shell scripts: parser, expansion and interpreter. Start with `shell`."""
