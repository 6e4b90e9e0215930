"""Go's rules for text: numbers, times, addresses, URLs and regular expressions."""
