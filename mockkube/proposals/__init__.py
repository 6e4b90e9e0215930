"""One module per KEP: gate, release train, schema overlay, checks, operators."""
