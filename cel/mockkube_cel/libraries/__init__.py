"""Functions of CEL and of its extension libraries, one module per library; each lists `FUNCTIONS`."""
