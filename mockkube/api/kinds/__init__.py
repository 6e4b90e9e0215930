"""Records of all built-in kinds: strategies, defaults, validation, printer columns."""
