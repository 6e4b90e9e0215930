"""Validation rules that several kinds share; rules of a single kind are in `api/kinds/`."""
