"""Engines behind the Store protocol, listed in catalogue.py."""
