"""Go's own rules for texts: numbers, times, addresses, URLs and regular expressions."""
