"""Type checking and cost estimation of a syntax tree."""
