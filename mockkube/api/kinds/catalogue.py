"""Which strategy a kind has."""

STRATEGIES = {}
