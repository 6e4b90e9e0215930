"""Commands of `mockkube`, one module each, imported when called; catalogue.py one folder up lists them."""
