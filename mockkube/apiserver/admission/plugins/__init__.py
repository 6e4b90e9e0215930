"""Admission plugins, one module each; their order is in catalogue.py one folder up."""
