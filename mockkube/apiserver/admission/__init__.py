"""Admission plugins: one module each, listed in catalogue.py."""
