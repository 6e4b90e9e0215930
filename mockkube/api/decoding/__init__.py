"""Decoding of request bodies: JSON and YAML to values, values to objects of one version. Start with `documents.py`."""
